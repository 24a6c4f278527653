import { defineConfig } from 'vitest/config'
import standard from '../../vitest.config.ts'

/** The upgrades from earlier programs, which are taken from the history of the repository: for a clone that has it. */
const { projects: _, ...shared } = standard.test ?? {}
export default defineConfig({ test: { ...shared, include: ['test/upgrade/releases.ts'] } })
