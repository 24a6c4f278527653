import { inject } from 'vitest'
import { isNightly } from '../tools/nightly.ts'
import { postgresPlace } from './place.ts'
import { adminGroup, coreGroups, crashSuite, operatorGroups, postgresGroups } from './suite.ts'

// Of the operators' transactions SQLite is enough in the proofs, but for what notes an action.
const operators = isNightly ? operatorGroups : [adminGroup]
crashSuite('Postgres', () => postgresPlace(inject('postgresUrl')), [coreGroups, [...operators, ...postgresGroups]])
