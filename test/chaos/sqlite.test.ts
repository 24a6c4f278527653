import { sqlitePlace } from '../crash/place.ts'
import { chaosSuite } from './suite.ts'

chaosSuite('SQLite', () => Promise.resolve(sqlitePlace()))
