import { sqlitePlace } from './place.ts'
import { coreGroups, crashSuite, operatorGroups, sqliteGroups } from './suite.ts'

// The proofs use every other point; Postgres uses others.
crashSuite('SQLite', () => Promise.resolve(sqlitePlace()), [coreGroups, [...operatorGroups, ...sqliteGroups]], 2)
