import { sqlitePlace } from './place.ts'
import { coreGroups, crashSuite, operatorGroups, sqliteGroups } from './suite.ts'

// In the proofs it has every other point; Postgres has others of them.
crashSuite('SQLite', () => Promise.resolve(sqlitePlace()), [coreGroups, [...operatorGroups, ...sqliteGroups]], 2)
