import { fullDiskSuite, operatorGroups } from './suite.ts'

fullDiskSuite(operatorGroups, 'all')
