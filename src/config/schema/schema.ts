import { z } from 'zod'
import { Secret } from '../../base/secret.ts'
import { accountSchema } from './account.ts'
import { items, secret, section, time, value, words } from './builders.ts'
import { cronOrOff } from './cron.ts'
import { checkAccounts, checkDatabase, checkDestinations, checkKeyIds, checkNames, checkOrder, checkRefreshTokens } from './cross-checks.ts'
import { databaseUrl, postgresUrl } from './database-url.ts'
import { destinationSchema, schedule, timeout } from './destination.ts'
import { documentsSchema } from './documents.ts'
import { operatorSchema } from './operator.ts'
import { host, opsSchema, port } from './ops.ts'
import { recordFieldsSchema } from './record-fields.ts'
import { markUrl } from './secrets.ts'
import { type StateReadName, stateReadNames } from './state-reads.ts'
import { daysOrOff, flag, matching, number, oneOf, protectKey, proxyUrl, publicUrl, size, timeZone, trustProxy } from './values.ts'

// Each error message continues a sentence that starts with the setting's name. Messages never contain the value, which
// may be a secret.

function keyPairs(text: string): unknown[] {
  return words(text).map((pair) => {
    const colon = pair.indexOf(':')
    return { id: pair.slice(0, Math.max(colon, 0)), key: pair.slice(colon + 1) }
  })
}

const protectKeys = items(
  section({
    id: value(matching(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be id:key; the id may have a-z, 0-9, _ and -')),
    key: secret(protectKey, 'is missing; set it'),
  }),
  20,
  keyPairs,
)

/** A key of a tax id. Only the letters of keys are compared, so the key needs at least three letters. */
const taxIdField = value(matching(/^(?=(?:[^a-z]*[a-z]){3}).{3,100}$/i, 'must be the name of a key, with three letters of a-z or more'))

const pollTime = (env: string, fallback: string, description: string) => time('1s', '3650d').prefault(fallback).meta({ env, description })

const proxy = markUrl(secret((text) => proxyUrl(text.trim()), '')).optional()

/**
 * All settings by their keys in the settings file: values, defaults, variables, and descriptions. `Config`,
 * `.env.example`, and the tables of `config/README.md` are generated from this schema.
 */
export const settingsSchema = section({
  accounts: items(accountSchema, 100).check(checkNames('accounts'), checkAccounts).prefault([]),
  database: section({
    url: markUrl(value(databaseUrl)).prefault('sqlite:data/mirror.db').meta({
      env: 'DATABASE_URL',
      file: true,
      description:
        '`sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/NAME`; [several servers](../docker/postgres.md#survive-the-loss-of-a-server): `HOST:PORT,HOST:PORT`',
    }),
    schema: value(
      matching(/^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/, 'must be a schema name of a-z, 0-9 and _, and not a system schema'),
    )
      .optional()
      .meta({ env: 'DATABASE_SCHEMA', shown: '`mirror`', description: 'Postgres: schema of all tables, of a-z, 0-9 and _' }),
    listen_url: markUrl(value(postgresUrl)).optional().meta({
      env: 'DATABASE_LISTEN_URL',
      file: true,
      shown: 'as `DATABASE_URL`',
      description: 'Postgres: a URL that bypasses the pooler, because poolers drop notifications',
    }),
  })
    .check(checkDatabase)
    .transform(({ url, schema = 'mirror', listen_url }) =>
      url.kind === 'sqlite' ? url : { kind: url.kind, url: new Secret(url.url), schema, listenUrl: new Secret(listen_url ?? url.url) },
    )
    .prefault({}),
  migrate_on_start: value(flag).prefault(true).meta({ env: 'MIGRATE_ON_START', description: 'whether `serve` migrates the database' }),
  receiver: section({
    host: host.prefault('0.0.0.0').meta({ env: 'HOST', description: 'address to listen on for deliveries' }),
    port: port.prefault(8080).meta({ env: 'PORT', description: 'port to listen on for deliveries; 0 is any free port' }),
    body_limit: value(size('1KiB', '64MiB'))
      .prefault('4MiB')
      .meta({ env: 'WEBHOOK_BODY_LIMIT', description: 'longest body, 1KiB to 64MiB' }),
    trust_proxy: z
      .preprocess((given) => (Array.isArray(given) ? given.join(',') : given), value(trustProxy))
      .prefault('off')
      .meta({
        env: 'TRUST_PROXY',
        description: 'proxies whose `X-Forwarded-For` is trusted: [below](../docker/reverse-proxy.md#set-trust_proxy)',
      }),
    public_url: value(publicUrl).optional().meta({
      env: 'PUBLIC_URL',
      description: 'public address of the endpoint without `/webhooks`; `doctor` sends a test delivery there',
    }),
  }).prefault({}),
  webhooks: section({
    lost_after: time('1s', '7d').prefault('15m').meta({
      env: 'WEBHOOK_LOST_AFTER',
      description: 'how long after a poll found a record its missing webhook counts as lost; 1s to 7d',
    }),
    silence_after: time('1m', '30d').prefault('6h').meta({
      env: 'WEBHOOK_SILENCE_AFTER',
      description:
        'how long an account may have no deliveries, while polls find unannounced records, before [an alarm](../docker/runbook.md#when-is-an-account-silent); 1m to 30d',
    }),
  }).prefault({}),
  ops: opsSchema.prefault({}),
  poll: section({
    active: pollTime('POLL_ACTIVE', '60s', 'time between polls of a submission with recent activity'),
    quiet: pollTime('POLL_QUIET', '15m', 'time between polls after a while'),
    max: pollTime('POLL_MAX', '6h', 'longest time between polls'),
    dormant: pollTime('POLL_DORMANT', '7d', 'longest time between polls after 90 days without activity'),
  })
    .check(checkOrder('poll', ['active', 'quiet', 'max', 'dormant']))
    .prefault({}),
  replay: section({
    active: pollTime('REPLAY_ACTIVE', '24h', 'longest time between full re-reads of an active submission'),
    quiet: pollTime('REPLAY_QUIET', '7d', 'longest time between full re-reads of a quiet submission'),
    dormant: pollTime('REPLAY_DORMANT', '30d', 'longest time between full re-reads after 90 days without activity'),
  })
    .check(checkOrder('replay', ['active', 'quiet', 'dormant']))
    .prefault({}),
  state_reads: items(value(oneOf(stateReadNames)), 20, words)
    .transform((names) => [...new Set<StateReadName>(['requirements', ...names])])
    .prefault([...stateReadNames])
    .meta({
      env: 'STATE_READS',
      shown: 'all',
      description: `reads of a submission's state: ${stateReadNames.map((name) => `\`${name}\``).join(', ')}. \`requirements\` is always read`,
    }),
  upstream: section({
    rps: value(number(0.01, 1_000_000, 'any'))
      .prefault(10)
      .meta({
        env: 'UPSTREAM_RPS',
        description: 'requests per second and account, 0.01 to 1000000; lowered automatically if the service throttles',
      }),
    concurrency: value(number(1, 256)).prefault(8).meta({
      env: 'UPSTREAM_CONCURRENCY',
      description: 'requests in flight per account, 1 to 256; at most 30 times `UPSTREAM_RPS`',
    }),
    https_proxy: proxy.meta({
      env: 'HTTPS_PROXY',
      lowerCase: true,
      description: 'proxy for https URLs, such as `http://USER:PASSWORD@proxy.example:3128`',
    }),
    http_proxy: proxy.meta({ env: 'HTTP_PROXY', lowerCase: true, description: 'proxy for http URLs' }),
    no_proxy: value(matching(/^[^\p{Cc}]*$/u, 'must be host names, separated by commas'))
      .optional()
      .meta({ env: 'NO_PROXY', lowerCase: true, description: 'hosts to call without a proxy, separated by commas' }),
  }).prefault({}),
  retention: section({
    days: value(daysOrOff(36_500)).prefault(30).meta({
      env: 'RETENTION_DAYS',
      description: 'days to keep raw deliveries, rejected deliveries and pushes ([details](retention.md)); `off`: forever',
    }),
    changes_days: value(daysOrOff(36_500)).prefault(400).meta({
      env: 'CHANGES_RETENTION_DAYS',
      description: 'days to keep the change log, at least until all of it is pushed; `off`: forever',
    }),
    max_share: value(number(1, 100)).prefault(50).meta({
      env: 'RETENTION_MAX_SHARE',
      description:
        'percent of the kept deliveries or changes that one run may remove [without confirmation](retention.md#when-retention-waits), 1 to 100 (100: never waits)',
    }),
  }).prefault({}),
  reconcile: section({
    cron: value(cronOrOff).prefault('0 3 * * *').meta({
      env: 'RECONCILE_CRON',
      description: 'when to reconcile every account: minute, hour, day, month, day of the week; or `off`',
    }),
    budget: time('1s', '30d').prefault('4h').meta({ env: 'RECONCILE_BUDGET', description: 'longest time of a run, 1s to 30d' }),
  }).prefault({}),
  backup: section({
    cron: value(cronOrOff).prefault('off').meta({
      env: 'BACKUP_CRON',
      description:
        'SQLite: when `serve` [makes a backup](../docker/backups.md#back-up-sqlite-on-a-schedule) and test-restores it: minute, hour, day, month, day of the week; or `off`',
    }),
    dir: value(matching(/^[^\0]{1,4096}$/, 'must be the path of a folder'))
      .prefault('data/backups')
      .meta({
        env: 'BACKUP_DIR',
        shown: '`data/backups` (`/data/backups` in the image)',
        description:
          'folder for these backups, best on another volume; created if missing. One folder per mirror: backups fail if the folder contains backups of another mirror',
      }),
    keep: value(number(1, 10_000))
      .prefault(7)
      .meta({ env: 'BACKUP_KEEP', description: 'how many of the newest backups to keep, 1 to 10000' }),
    keep_days: value(daysOrOff(36_500))
      .prefault('off')
      .meta({ env: 'BACKUP_KEEP_DAYS', description: 'days to keep older backups as well; `off`: delete them' }),
  }).prefault({}),
  cron_timezone: value(timeZone)
    .prefault('UTC')
    .meta({ env: 'CRON_TIMEZONE', description: 'time zone of schedules, such as `America/New_York`' }),
  documents: documentsSchema.prefault({}),
  tax_id_fields: items(taxIdField, 100, words).prefault([]).meta({
    env: 'TAX_ID_FIELDS',
    description: 'more keys whose values are tax ids (FEIN, SSN), separated by spaces or commas',
  }),
  protect: section({
    mode: value(oneOf(['drop', 'encrypt', 'keep']))
      .prefault('drop')
      .meta({
        env: 'PROTECT',
        description: 'how tax ids are stored: `drop` (not at all), `encrypt`, or `keep` in plain text; see [Tax ids](../docker/tax-ids.md)',
      }),
    keys: protectKeys.check(checkKeyIds).prefault([]).meta({
      env: 'PROTECT_KEYS',
      file: true,
      description:
        'keys for `encrypt` and for stored refresh tokens: `id:base64` of 32 bytes, separated by spaces or commas; in the settings file, a list of `id` and `key`. The first key encrypts, all keys decrypt',
    }),
  })
    .refine(({ mode, keys }) => mode !== 'encrypt' || keys.length > 0, {
      path: ['keys'],
      message: 'must hold a key when {protect.mode} is encrypt',
    })
    .prefault({}),
  shutdown_grace: time('100ms', '1h').optional().meta({
    env: 'SHUTDOWN_GRACE',
    shown: '`8s`; `25s` when a destination is not idempotent',
    description: 'how long work in flight may take after SIGTERM, 100ms to 1h',
  }),
  record_fields: recordFieldsSchema.prefault({}).meta({
    shown: 'guesses',
    description:
      'where to find the [columns of policies and insureds](extra-reads.md#fill-the-columns-of-policies-and-insureds) in their records',
  }),
  destinations: items(destinationSchema, 100)
    .check(checkNames('destinations'))
    .prefault([])
    .meta({ description: '[receivers of changes](destinations.md)' }),
  push: section({
    schedule: schedule.prefault(['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h']).meta({
      description: 'default waits between attempts',
    }),
    timeout: timeout.prefault('20s').meta({ description: 'default time limit of an attempt' }),
  }).prefault({}),
  operators: items(operatorSchema, 20)
    .check(checkNames('operators'))
    .prefault([])
    .meta({ description: '[alert recipients](../docker/monitoring.md#send-alarms-to-people)' }),
  log: section({
    level: value(oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']))
      .prefault('info')
      .meta({ env: 'LOG_LEVEL', description: '`silent`, `fatal`, `error`, `warn`, `info`, `debug` or `trace`' }),
  }).prefault({}),
})
  // The receiver is public and the ops port isn't, so their ports must differ. Port 0 means any free port.
  .refine(({ ops, receiver }) => ops.port === 0 || ops.port !== receiver.port, {
    path: ['ops', 'port'],
    message: 'must differ from {receiver.port}; choose another',
  })
  // Scheduled backups run only on SQLite.
  .refine(({ backup, database }) => backup.cron === null || database.kind !== 'postgres', {
    path: ['backup', 'cron'],
    message: 'is for SQLite only; set it to off, and back up Postgres with pg_dump or the tools of the server',
  })
  .check(checkDestinations, checkRefreshTokens)

export type Settings = z.output<typeof settingsSchema>
