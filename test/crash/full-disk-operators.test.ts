import { fullDiskSuite, operatorGroups, sqliteGroups } from './suite.ts'

fullDiskSuite([...operatorGroups, ...sqliteGroups])
