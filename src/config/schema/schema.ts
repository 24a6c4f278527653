import { z } from 'zod'
import { Secret } from '../../base/secret.ts'
import { accountSchema } from './account.ts'
import { items, secret, section, time, value, verbatim, words } from './builders.ts'
import { cronOrOff } from './cron.ts'
import { checkAccounts, checkBackup, checkDatabase, checkNames, checkOrder, checkPorts, checkProtect } from './cross-checks.ts'
import { databaseUrl, postgresUrl } from './database-url.ts'
import { destinationSchema, schedule, timeout } from './destination.ts'
import { checkDestinations, checkRefreshTokens } from './destination-checks.ts'
import { documentsSchema } from './documents.ts'
import { operatorSchema } from './operator.ts'
import { host, opsSchema, port } from './ops.ts'
import { recordFieldsSchema } from './record-fields.ts'
import { markUrl } from './secrets.ts'
import { type StateReadName, stateReadNames } from './state-reads.ts'
import { daysOrOff, flag, matching, number, oneOf, protectKey, proxyUrl, publicUrl, size, timeZone, trustProxy } from './values.ts'

// Messages follow the name of their setting and never contain its value, which may be a secret.

/** Splits `id:key` pairs at spaces and commas. */
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

/** Keys are compared by their letters alone, so a key needs at least three. */
const taxIdField = value(matching(/^(?=(?:[^a-z]*[a-z]){3}).{3,100}$/i, 'must be the name of a key, with three letters of a-z or more'))

/** Time between two reads of a submission. */
const pollTime = (env: string, fallback: string, description: string) => time('1s', '3650d').prefault(fallback).meta({ env, description })

const proxy = markUrl(secret((text) => proxyUrl(text.trim()), '')).optional()

/**
 * All settings by the keys of the settings file: their values, defaults, variables and descriptions. `Config`, the tables of
 * `config/README.md` and `.env.example` follow from it.
 */
export const settingsSchema = section({
  accounts: items(accountSchema, 100).check(checkNames('accounts'), checkAccounts).prefault([]),
  database: section({
    url: markUrl(value(databaseUrl)).prefault('sqlite:data/mirror.db').meta({
      env: 'DATABASE_URL',
      file: true,
      description:
        '`sqlite:PATH` or `postgres://USER:PASSWORD@HOST:PORT/NAME`; [several servers](#what-if-there-are-several-postgres-servers): `HOST:PORT,HOST:PORT`',
    }),
    schema: value(
      matching(/^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/, 'must be a schema name of a-z, 0-9 and _, and none of the system'),
    )
      .optional()
      .meta({ env: 'DATABASE_SCHEMA', shown: '`mirror`', description: 'Postgres: schema of all tables, of a-z, 0-9 and _' }),
    listen_url: markUrl(value(postgresUrl)).optional().meta({
      env: 'DATABASE_LISTEN_URL',
      file: true,
      shown: 'as `DATABASE_URL`',
      description: 'Postgres: a way past the pooler, which cannot pass on notifications',
    }),
  })
    .check(checkDatabase)
    .transform(({ url, schema = 'mirror', listen_url }) =>
      url.kind === 'sqlite' ? url : { kind: url.kind, url: new Secret(url.url), schema, listenUrl: new Secret(listen_url ?? url.url) },
    )
    .prefault({}),
  migrate_on_start: value(flag)
    .prefault(true)
    .meta({ env: 'MIGRATE_ON_START', description: 'whether `serve` brings the tables up to date' }),
  receiver: section({
    host: host.prefault('0.0.0.0').meta({ env: 'HOST', description: 'address on which deliveries arrive' }),
    port: port.prefault(8080).meta({ env: 'PORT', description: 'port on which deliveries arrive; 0 is any free one' }),
    body_limit: value(size('1KiB', '64MiB'))
      .prefault('4MiB')
      .meta({ env: 'WEBHOOK_BODY_LIMIT', description: 'longest body, 1KiB to 64MiB' }),
    trust_proxy: z
      .preprocess((given) => (Array.isArray(given) ? given.join(',') : given), value(trustProxy))
      .prefault('off')
      .meta({ env: 'TRUST_PROXY', description: 'whose `X-Forwarded-For` is believed: [below](#run-behind-a-proxy-or-load-balancer)' }),
    public_url: value(publicUrl).optional().meta({
      env: 'PUBLIC_URL',
      description: "the endpoint's address without `/webhooks`; only `doctor` uses it, to send itself a delivery",
    }),
  }).prefault({}),
  webhooks: section({
    lost_after: time('1s', '7d').prefault('15m').meta({
      env: 'WEBHOOK_LOST_AFTER',
      description: 'from when on a webhook that did not come counts as lost, after a poll has found what it would have told; 1s to 7d',
    }),
    silence_after: time('1m', '30d').prefault('6h').meta({
      env: 'WEBHOOK_SILENCE_AFTER',
      description:
        'how long no delivery may come, while polls find records that none announced, before [it is an alarm](../docker/runbook.md#when-is-an-account-silent); 1m to 30d',
    }),
  }).prefault({}),
  ops: opsSchema.prefault({}),
  poll: section({
    active: pollTime('POLL_ACTIVE', '60s', 'between two polls of a submission in which something just happened'),
    quiet: pollTime('POLL_QUIET', '15m', 'between two polls after a while'),
    max: pollTime('POLL_MAX', '6h', 'the longest time between two polls'),
    dormant: pollTime('POLL_DORMANT', '7d', 'the longest time between two polls when nothing moved for 90 days'),
  })
    .check(checkOrder('poll', ['active', 'quiet', 'max', 'dormant']))
    .prefault({}),
  replay: section({
    active: pollTime('REPLAY_ACTIVE', '24h', 'the longest between two replays (reads from the beginning) of an active submission'),
    quiet: pollTime('REPLAY_QUIET', '7d', 'the longest between two replays of a quiet submission'),
    dormant: pollTime('REPLAY_DORMANT', '30d', 'the longest between two replays when nothing moved for 90 days'),
  })
    .check(checkOrder('replay', ['active', 'quiet', 'dormant']))
    .prefault({}),
  state_reads: items(value(oneOf(stateReadNames)), 20, words)
    .transform((names) => [...new Set<StateReadName>(['requirements', ...names])])
    .prefault([...stateReadNames])
    .meta({
      env: 'STATE_READS',
      shown: 'all',
      description: `the reads of a submission's state that are made: ${stateReadNames.map((name) => `\`${name}\``).join(', ')}. \`requirements\` always is`,
    }),
  upstream: section({
    rps: value(number(0.01, 1_000_000, 'any'))
      .prefault(10)
      .meta({
        env: 'UPSTREAM_RPS',
        description: 'requests a second, for each account, 0.01 to 1000000; lower by itself when the service asks',
      }),
    concurrency: value(number(1, 256)).prefault(8).meta({
      env: 'UPSTREAM_CONCURRENCY',
      description: 'requests in flight, for each account, 1 to 256; at most 30 for each request a second',
    }),
    https_proxy: proxy.meta({
      env: 'HTTPS_PROXY',
      lowerCase: true,
      description: 'proxy for https URLs, such as `http://USER:PASSWORD@proxy.example:3128`',
    }),
    http_proxy: proxy.meta({ env: 'HTTP_PROXY', lowerCase: true, description: 'proxy for http URLs' }),
    no_proxy: value(matching(/^[^\p{Cc}]*$/u, 'must be host names, separated by commas'))
      .optional()
      .meta({ env: 'NO_PROXY', lowerCase: true, description: 'hosts that are called directly, separated by commas' }),
  }).prefault({}),
  retention: section({
    days: value(daysOrOff(36_500)).prefault(30).meta({
      env: 'RETENTION_DAYS',
      description: 'days that raw deliveries, refused ones and pushes are [kept](#how-long-is-what-kept); `off`: for ever',
    }),
    changes_days: value(daysOrOff(36_500)).prefault(400).meta({
      env: 'CHANGES_RETENTION_DAYS',
      description: 'days that the change log is kept, and always until all of it is pushed; or `off`',
    }),
    max_share: value(number(1, 100)).prefault(50).meta({
      env: 'RETENTION_MAX_SHARE',
      description:
        'percent of the kept deliveries or changes that one turn removes [without being confirmed](#when-does-retention-wait), 1 to 100 (never waits for that)',
    }),
  }).prefault({}),
  reconcile: section({
    cron: value(cronOrOff).prefault('0 3 * * *').meta({
      env: 'RECONCILE_CRON',
      description: 'when every account is reconciled: minute, hour, day, month, day of the week; or `off`',
    }),
    budget: time('1s', '30d').prefault('4h').meta({ env: 'RECONCILE_BUDGET', description: 'how long a run may take, 1s to 30d' }),
  }).prefault({}),
  backup: section({
    cron: value(cronOrOff).prefault('off').meta({
      env: 'BACKUP_CRON',
      description:
        'SQLite: when `serve` [makes a backup](../docker/README.md#make-backups-by-a-timetable) and tries to restore it: minute, hour, day, month, day of the week; or `off`',
    }),
    dir: value(matching(/^[^\0]{1,4096}$/, 'must be the path of a folder'))
      .prefault('data/backups')
      .meta({
        env: 'BACKUP_DIR',
        shown: '`data/backups` (`/data/backups` in the image)',
        description:
          'folder of these backups, best on another volume; created when it is missing. One mirror, one folder: a file in it names the mirror, and copies of another one make backups fail',
      }),
    keep: value(number(1, 10_000))
      .prefault(7)
      .meta({ env: 'BACKUP_KEEP', description: 'how many of them are kept, the newest first, 1 to 10000' }),
    keep_days: value(daysOrOff(36_500))
      .prefault('off')
      .meta({ env: 'BACKUP_KEEP_DAYS', description: 'days that further ones are kept as well; `off`: none are' }),
  }).prefault({}),
  cron_timezone: value(timeZone)
    .prefault('UTC')
    .meta({ env: 'CRON_TIMEZONE', description: 'time zone of times of day, such as `America/New_York`' }),
  documents: documentsSchema.prefault({}),
  tax_id_fields: items(taxIdField, 100, words).prefault([]).meta({
    env: 'TAX_ID_FIELDS',
    description: 'more keys under which a tax id (FEIN, SSN) stands, separated by spaces or commas',
  }),
  protect: section({
    mode: value(oneOf(['drop', 'encrypt', 'keep']))
      .prefault('drop')
      .meta({
        env: 'PROTECT',
        description:
          'what is stored of a tax id: `drop` nothing, `encrypt`, or `keep` in plain text; see [Tax ids](../docker/README.md#tax-ids-and-personal-data)',
      }),
    keys: protectKeys.prefault([]).meta({
      env: 'PROTECT_KEYS',
      file: true,
      description:
        'keys of `encrypt`, and of stored refresh tokens, as `id:base64` of 32 bytes, separated by spaces or commas; in the file a list of `id` and `key`. The first encrypts, all decrypt',
    }),
  })
    .check(checkProtect)
    .prefault({}),
  shutdown_grace: time('100ms', '1h').optional().meta({
    env: 'SHUTDOWN_GRACE',
    shown: '`8s`; `25s` when a destination is not idempotent',
    description: 'how long work in hand may take after SIGTERM, 100ms to 1h',
  }),
  record_fields: verbatim(recordFieldsSchema).prefault({}).meta({
    shown: 'guesses',
    description: 'where columns of policies and insureds [are looked for](#fill-the-columns-of-policies-and-insureds) in their records',
  }),
  destinations: items(destinationSchema, 100)
    .check(checkNames('destinations'))
    .prefault([])
    .meta({ description: '[receivers of changes](destinations.md)' }),
  push: section({
    schedule: schedule.prefault(['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h']).meta({
      description: 'waits between tries, of destinations that do not say otherwise',
    }),
    timeout: timeout.prefault('20s').meta({ description: 'longest try, of destinations that do not say otherwise' }),
  }).prefault({}),
  operators: items(operatorSchema, 20)
    .check(checkNames('operators'))
    .prefault([])
    .meta({ description: '[who is told of alarms](#who-is-told-of-alarms)' }),
  log: section({
    level: value(oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']))
      .prefault('info')
      .meta({ env: 'LOG_LEVEL', description: '`silent`, `fatal`, `error`, `warn`, `info`, `debug` or `trace`' }),
  }).prefault({}),
}).check(checkPorts, checkBackup, checkDestinations, checkRefreshTokens)

export type Settings = z.output<typeof settingsSchema>
