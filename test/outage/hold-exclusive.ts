// Holds the whole of a SQLite database locked until it is killed. Argument: the path.
import Database from 'better-sqlite3'

const database = new Database(process.argv[2] ?? '', { timeout: 10_000 })
database.exec('begin exclusive')
console.log('locked')
// Keeps the process alive, and the connection: one that nothing refers to any more is closed, and its lock gone with it.
process.stdin.on('data', () => database.close())
