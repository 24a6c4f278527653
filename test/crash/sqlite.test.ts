import { sqlitePlace } from './place.ts'
import { coreGroups, crashSuite } from './suite.ts'

crashSuite('SQLite', () => Promise.resolve(sqlitePlace()), coreGroups, 'after-commit')
