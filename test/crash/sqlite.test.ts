import { sqlitePlace } from './place.ts'
import { crashSuite } from './suite.ts'

crashSuite('SQLite', () => Promise.resolve(sqlitePlace()))
