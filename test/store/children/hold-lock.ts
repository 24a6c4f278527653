// Holds the write lock of a SQLite database until it gets an input. Argument: the path.
import { once } from 'node:events'
import Database from 'better-sqlite3'

const database = new Database(process.argv[2] ?? '')
database.exec('begin immediate')
console.log('locked')
await once(process.stdin, 'data')
database.exec('commit')
console.log('released')
database.close()
process.exit(0)
