// Keeps a SQLite database locked until it is killed. Argument: the path.
import Database from 'better-sqlite3'

const database = new Database(process.argv[2] ?? '', { timeout: 10_000 })
database.exec('begin exclusive')
console.log('locked')
// Keeps the process and the connection alive; a collected connection loses its lock.
process.stdin.on('data', () => database.close())
