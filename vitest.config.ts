import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/tools/global-setup.ts'],
    pool: 'forks',
    // Two cores: more workers only make the crash and end-to-end tests wait for each other.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A filter that matches nothing, or a stray `.only`, must not look like success.
    passWithNoTests: false,
    allowOnly: false,
  },
})
