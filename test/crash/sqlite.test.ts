import { sqlitePlace } from './place.ts'
import { coreGroups, crashSuite } from './suite.ts'

crashSuite('SQLite', () => Promise.resolve(sqlitePlace()), coreGroups, { moment: 'after-commit', share: 'even' })
