import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/tools/longest-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/tools/global-setup.ts'],
    pool: 'forks',
    // Two cores, and tests that wait for a process or a pause as often as they compute.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A filter that matches nothing, or a stray `.only`, must not look like success.
    passWithNoTests: false,
    allowOnly: false,
  },
})
