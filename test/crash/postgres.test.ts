import { inject } from 'vitest'
import { isNightly } from '../tools/nightly.ts'
import { postgresPlace } from './place.ts'
import { adminGroup, coreGroups, crashSuite, operatorGroups, postgresGroups } from './suite.ts'

// In the proofs, SQLite alone runs most operator transactions, and Postgres runs every third point.
const operators = isNightly ? operatorGroups : [adminGroup]
crashSuite('Postgres', () => postgresPlace(inject('postgresUrl')), [coreGroups, [...operators, ...postgresGroups]], 3)
