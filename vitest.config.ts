import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/tools/longest-first.ts'

/** What kills, restarts, outlasts, or tells long stories: `npm run test:proofs`, like what runs on Postgres. All other tests are `npm test`. */
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
  // What `damage.test.ts` proves of a run stays with the other tests; these try every kind of damage.
  ...['check/corrections', 'run/killed', 'run/schedule', 'run/unproved', 'damage/!(damage)'].map(
    (file) => `test/reconcile/${file}.test.ts`,
  ),
  'test/push/outbox.property.test.ts',
  'test/push/presets/killed.test.ts',
  'test/client/browser.test.ts',
  'test/store/backup/copy-killed.test.ts',
  ...['killed', 's3'].map((file) => `test/documents/storage/${file}.test.ts`),
]

/**
 * What proves the same once more: every kill point before and after its commit on each database, more failovers and seeds; that the tests
 * find planted faults; that a release has the same bytes whenever it is made, and that the next one takes over and gives back.
 */
const longer = ['crash/*', 'failover/*synchronous', 'simulation/*', 'plants/*', 'docker/release', 'e2e/upgrade', 'e2e/variants'].map(
  (file) => `test/${file}.test.ts`,
)
/** Of these, files that have no short form in the proofs. */
const onlyNightly = ['crash/full-disk-operators', 'plants/found', 'docker/release', 'e2e/upgrade'].map((file) => `test/${file}.test.ts`)
const nightly = { NIGHTLY: '1', SIMULATION_SEEDS: '1-1000', MIXES: '1-200' }

const naming = (words: RegExp) => globSync('test/**/*.test.ts').filter((file) => words.test(readFileSync(file, 'utf8')))
/** What runs on both databases: `npm test` runs it on SQLite. */
const onBoth = naming(/\btestDatabases\b/)
/** What is about Postgres alone, or about both at once. */
const aboutPostgres = naming(/\bpostgresDatabase\b|inject\('postgresUrl'/).filter((file) => !onBoth.includes(file))

/** Migrations, the store and the queries of the documents, as far as they speak to Postgres: `npm run test:proofs` tries them on the oldest, too. */
const onPostgres14 = [
  ...['changes', 'inbox', 'migrate', 'mirror', 'reads', 'upkeep'].map((room) => `store/${room}/*`),
  ...['backup/copy', 'engine/{db,rows}', 'lookup-plans', 'outbox/*', 'postgres/postgres'].map((file) => `store/${file}`),
  'rules/{queries,readme}',
].map((files) => `test/${files}.test.ts`)

/** Tests that replace a module before anything has loaded it, and so each have a process to themselves. */
const mocks = ['test/store/sqlite/threads.test.ts', 'test/entity/new-entity.test.ts']

export default defineConfig({
  test: {
    globalSetup: ['test/tools/global-setup.ts'],
    setupFiles: ['test/tools/bundled-threads.ts'],
    pool: 'forks',
    // Two cores, and tests that wait for a process or a pause as often as they compute. `npm test`, which waits more, has six.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // Several times what the slowest takes on a machine that has much else to do, and twice what anything is awaited for.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What is awaited by looking comes within a moment, but not on a machine that is busy.
    expect: { poll: { timeout: 150_000 } },
    // A filter that matches nothing, or a stray `.only`, must not look like success.
    passWithNoTests: false,
    allowOnly: false,
    // Files share their process: loading the modules anew for each took a third of the time.
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
