import { inject } from 'vitest'
import { postgresPlace } from '../crash/place.ts'
import { chaosSuite } from './suite.ts'

chaosSuite('Postgres', () => postgresPlace(inject('postgresUrl')))
