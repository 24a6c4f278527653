import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/tools/longest-first.ts'

/** What kills, restarts, outlasts, or tells long stories: `npm run test:proofs`. All other tests are `npm test`. */
const proofs = [
  ...['console', 'crash', 'chaos', 'failover', 'outage', 'paused', 'upgrade', 'hostile', 'simulation'].map(
    (folder) => `test/${folder}/**/*.test.ts`,
  ),
  ...[
    'e2e/faults',
    'e2e/postgres',
    'e2e/runbook',
    'e2e/sqlite',
    'e2e/submit-to-bound',
    'e2e/whole-state',
    'app/alarms',
    'app/demo',
    'app/reload-rotation',
    'app/reload-settings',
    'poll/fairness',
    'poll/not-found',
    'poll/reads-off',
  ].map((file) => `test/${file}.test.ts`),
  ...['alarms/runbook', 'cli/push-commands', 'cli/sync'].map((file) => `test/ops/${file}.test.ts`),
  // What `damage.test.ts` proves of a run stays with the other tests; these try every kind of damage.
  ...['check/corrections', 'run/killed', 'run/schedule', 'run/unproved', 'damage/!(damage)'].map(
    (file) => `test/reconcile/${file}.test.ts`,
  ),
  'test/push/outbox.property.test.ts',
  'test/store/backup/copy-killed.test.ts',
  ...['killed', 's3'].map((file) => `test/documents/storage/${file}.test.ts`),
]

/** What proves the same once more: every kill point before and after its commit on each database, every sector, more failovers and seeds. */
const longer = ['crash/*', 'failover/*synchronous', 'outage/torn-log', 'simulation/*'].map((file) => `test/${file}.test.ts`)
/** Of these, files that have no short form in the proofs. */
const onlyNightly = ['test/crash/full-disk-operators.test.ts']
const nightly = { NIGHTLY: '1', SIMULATION_SEEDS: '1-1000' }

/** Tests that replace a module before anything has loaded it, and so each have a process to themselves. */
const mocks = ['test/store/sqlite/threads.test.ts', 'test/entity/new-entity.test.ts']

export default defineConfig({
  test: {
    globalSetup: ['test/tools/global-setup.ts'],
    pool: 'forks',
    // Two cores, and tests that wait for a process or a pause as often as they compute.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Three times what the slowest takes on a machine that has much else to do.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    // A filter that matches nothing, or a stray `.only`, must not look like success.
    passWithNoTests: false,
    allowOnly: false,
    // Files share their process: loading the modules anew for each took a third of the time.
    isolate: false,
    projects: [
      { extends: true, test: { name: 'tests', include: ['test/**/*.test.ts'], exclude: [...proofs, ...mocks] } },
      { extends: true, test: { name: 'mocks', include: mocks, isolate: true } },
      {
        extends: true,
        // What is awaited by looking comes within a moment, but not on a machine that is busy.
        test: {
          name: 'proofs',
          include: proofs,
          exclude: onlyNightly,
          globalSetup: ['test/console/build.ts'],
          expect: { poll: { timeout: 20_000 } },
        },
      },
      { extends: true, test: { name: 'nightly', include: longer, env: nightly } },
    ],
  },
})
