// Holds the whole of a SQLite database locked until it is killed. Argument: the path.
import { once } from 'node:events'
import Database from 'better-sqlite3'

const database = new Database(process.argv[2] ?? '', { timeout: 10_000 })
database.exec('begin exclusive')
console.log('locked')
await once(process.stdin, 'close')
// Named to the end: a connection that nothing refers to any more is closed, and its lock gone with it.
database.close()
