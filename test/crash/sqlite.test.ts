import { sqlitePlace } from './place.ts'
import { coreGroups, crashSuite, operatorGroups, sqliteGroups } from './suite.ts'

crashSuite('SQLite', () => Promise.resolve(sqlitePlace()), [coreGroups, [...operatorGroups, ...sqliteGroups]])
