import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/tools/longest-first.ts'

/**
 * Tests of kills, restarts, long outages and long stories: `npm run test:proofs`, like the tests on Postgres. All others are `npm test`.
 */
const proofs = [
  ...['console', 'crash', 'chaos', 'failover', 'outage', 'paused', 'hostile', 'simulation'].map((folder) => `test/${folder}/**/*.test.ts`),
  ...[
    'e2e/buses',
    'e2e/faults',
    'e2e/filter',
    'e2e/hungry',
    'e2e/postgres',
    'e2e/sqlite',
    'e2e/submit-to-bound',
    'e2e/variants',
    'e2e/whole-state',
    'app/demo',
    'app/reload-rotation',
    'app/reload-settings',
    'ops/http/random-requests',
    'poll/fairness',
    'poll/not-found',
    'poll/reads-off',
    'receive/database-away',
    'receive/slow-senders',
    'work/store-away',
  ].map((file) => `test/${file}.test.ts`),
  ...['alarms/runbook', 'cli/push-commands', 'cli/sync'].map((file) => `test/ops/${file}.test.ts`),
  // The short cases in `damage.test.ts` stay in `npm test`; these try every kind of damage.
  ...['check/corrections', 'run/killed', 'run/schedule', 'run/unreconciled', 'damage/!(damage)'].map(
    (file) => `test/reconcile/${file}.test.ts`,
  ),
  'test/push/outbox.property.test.ts',
  'test/push/presets/killed.test.ts',
  'test/client/browser.test.ts',
  'test/store/backup/copy-killed.test.ts',
  ...['killed', 's3'].map((file) => `test/documents/storage/${file}.test.ts`),
]

/**
 * Longer forms of the proofs: every kill point before and after its commit on each database, more failovers and seeds, planted faults,
 * reproducible releases, and upgrades with downgrades.
 */
const longer = [
  'crash/*',
  'failover/*synchronous',
  'simulation/*',
  'plants/*',
  'docker/release',
  'e2e/upgrade',
  'e2e/variants',
  'store/as-of/*',
].map((file) => `test/${file}.test.ts`)
/** Nightly files without a short form in the proofs. */
const onlyNightly = ['crash/full-disk-operators', 'plants/found', 'docker/release', 'e2e/upgrade'].map((file) => `test/${file}.test.ts`)
const nightly = { NIGHTLY: '1', SIMULATION_SEEDS: '1-1000', MIXES: '1-200' }

const naming = (words: RegExp) => globSync('test/**/*.test.ts').filter((file) => words.test(readFileSync(file, 'utf8')))
/** Tests of both databases; `npm test` runs them on SQLite. */
const onBoth = naming(/\btestDatabases\b/)
/** Tests of Postgres alone, or of both databases together. */
const aboutPostgres = naming(/\bpostgresDatabase\b|inject\('postgresUrl'/).filter((file) => !onBoth.includes(file))

/** Tests of migrations, store and documented queries that use Postgres; `npm run test:proofs` also runs them on the oldest version. */
const onPostgres14 = [
  ...['changes', 'inbox', 'migrate', 'mirror', 'reads', 'upkeep'].map((room) => `store/${room}/*`),
  ...['backup/copy', 'engine/{db,rows}', 'lookup-plans', 'outbox/*', 'postgres/postgres'].map((file) => `store/${file}`),
  'rules/{queries,readme}',
].map((files) => `test/${files}.test.ts`)

/** Tests that replace a module before it is loaded, each in its own process. */
const mocks = ['test/store/sqlite/threads.test.ts', 'test/entity/new-entity.test.ts']

export default defineConfig({
  test: {
    globalSetup: ['test/tools/global-setup.ts'],
    setupFiles: ['test/tools/bundled-threads.ts'],
    pool: 'forks',
    // Two cores, and tests that wait as often as they compute. `npm test` waits more and has six workers.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Several times the slowest test on a busy machine, and twice the longest wait.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Polled conditions hold within a moment, except on a busy machine.
    expect: { poll: { timeout: 150_000 } },
    // A filter that matches nothing, or a stray `.only`, must not look like success.
    passWithNoTests: false,
    allowOnly: false,
    // Files share their process: loading the modules for each file took a third of the time.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['test/**/*.test.ts'],
          exclude: [...proofs, ...onlyNightly, ...mocks, ...aboutPostgres],
          env: { TEST_DATABASE: 'sqlite' },
        },
      },
      { extends: true, test: { name: 'mocks', include: mocks, isolate: true } },
      {
        extends: true,
        test: { name: 'proofs', include: proofs, exclude: onlyNightly, globalSetup: ['test/console/build.ts'] },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: [...onBoth, ...aboutPostgres],
          exclude: [...proofs, ...onlyNightly, ...mocks],
          env: { TEST_DATABASE: 'postgres' },
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres-14',
          include: onPostgres14,
          globalSetup: ['test/tools/on-postgres-14.ts'],
          env: { TEST_DATABASE: 'postgres' },
        },
      },
      { extends: true, test: { name: 'nightly', include: longer, env: nightly } },
    ],
  },
})
