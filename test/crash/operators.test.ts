import { sqlitePlace } from './place.ts'
import { crashSuite, operatorGroups } from './suite.ts'

crashSuite('SQLite', () => Promise.resolve(sqlitePlace()), operatorGroups, { moment: 'after-commit', share: 'all' })
