import { defineConfig, mergeConfig } from 'vitest/config'
import standard from '../../vitest.config.ts'

/** The upgrades from earlier programs, which are taken from the history of the repository: for a clone that has it. */
export default mergeConfig(
  { ...standard, test: { ...standard.test, include: [] } },
  defineConfig({ test: { include: ['test/upgrade/releases.ts'] } }),
)
