import { inject } from 'vitest'
import { postgresPlace } from './place.ts'
import { coreGroups, crashSuite, postgresGroups } from './suite.ts'

crashSuite('Postgres', () => postgresPlace(inject('postgresUrl')), [...coreGroups, ...postgresGroups], {
  moment: 'before-commit',
  share: 'odd',
})
