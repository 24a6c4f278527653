import { coreGroups, fullDiskSuite } from './suite.ts'

fullDiskSuite(coreGroups.slice(0, 4))
