import { inject } from 'vitest'
import { postgresPlace } from './place.ts'
import { crashSuite } from './suite.ts'

crashSuite('Postgres', () => postgresPlace(inject('postgresUrl')))
