import { coreGroups, fullDiskSuite } from './suite.ts'

fullDiskSuite(coreGroups.slice(4))
