import { z } from 'zod'
import { isNonEmpty, items, secret, section, value, words } from './builders.ts'
import { cronOrOff } from './cron.ts'
import { checkAccounts, checkDatabase, checkNames, checkOrder, checkPorts, checkProtect, checkTokens } from './cross-checks.ts'
import { databaseUrl, postgresUrl } from './database-url.ts'
import { destinationSchema, keyName, schedule, timeout } from './destination.ts'
import { checkDestinations } from './destination-checks.ts'
import { documentsSchema } from './documents.ts'
import { extraPath } from './extra-path.ts'
import { oidcSchema } from './oidc.ts'
import { operatorSchema } from './operator.ts'
import { probePath } from './probe-path.ts'
import { roles } from './roles.ts'
import { stateReadNames } from './state-reads.ts'
import {
  baseUrl,
  clientId,
  clientSecret,
  daysOrOff,
  duration,
  flag,
  listenHost,
  matching,
  number,
  oneOf,
  protectKey,
  proxyUrl,
  size,
  timeZone,
  trustProxy,
  webhookSecret,
} from './values.ts'

// Messages follow the name of their setting and never contain its value, which may be a secret.

const host = value(listenHost)
const port = value(number(0, 65_535))

const account = section({
  name: value(keyName, 'is missing; give the account a name, which stays its key for ever'),
  default: value(flag).prefault(false),
  base_url: value(baseUrl, "is missing; set it to the service's base URL, version segment included"),
  client_credentials: items(
    section({
      id: value(clientId, 'is missing; set it to the client id from the portal'),
      secret: secret(clientSecret, 'is missing; set it to the client secret from the portal'),
    }),
    10,
  ).refine(isNonEmpty, 'must hold at least one pair of id and secret'),
  scope: value(matching(/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/, 'must be one or more scopes, separated by single spaces')).prefault(
    'broker_mcp',
  ),
  webhook_secrets: items(secret(webhookSecret, 'is missing; set it to the signing secret from the portal'), 10, words).refine(
    isNonEmpty,
    'must hold the signing secret of the webhook endpoint',
  ),
  discovery: section({
    paths: items(value(probePath), 20).refine(isNonEmpty, 'must hold at least one path; else leave discovery out'),
    every: value(duration('1m', '30d')).prefault('1h'),
  }).optional(),
  extra_reads: items(
    section({
      name: value(keyName, 'is missing; give the read a name, which stays its key'),
      path: value(extraPath, 'is missing; set it to a path below the base URL'),
      every: value(duration('1m', '30d')).prefault('1d'),
    }),
    20,
  )
    .check(checkNames('extra_reads'))
    .prefault([]),
})

/** Splits `name:token[:role]` at white space. A token may hold colons itself: only one of the roles at its end is a role. */
function tokenPairs(text: string): unknown[] {
  return text
    .split(/\s+/)
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [, named = '', role] = /^(.*?)(?::(viewer|operator|admin))?$/.exec(pair) ?? []
      const colon = named.indexOf(':')
      return { name: named.slice(0, Math.max(colon, 0)), token: named.slice(colon + 1), ...(role !== undefined && { role }) }
    })
}

const tokens = items(
  section({
    name: value(matching(/^[A-Za-z0-9][\w.-]{0,62}$/, 'must be name:token; the name may have letters, digits, _, . and -')),
    token: secret(
      matching(/^[\x21-\x7e]{16,512}$/, 'must have a token of 16 to 512 characters of ASCII, without spaces'),
      'is missing; set it',
    ),
    role: value(oneOf(roles)).prefault('admin'),
  }),
  100,
  tokenPairs,
)

/** Parses the public URL of the receiver or of the ops port: https, with at most the path prefix that a load balancer adds. */
function publicUrl(text: string): ReturnType<typeof baseUrl> {
  const parsed = baseUrl(text)
  if (!('problems' in parsed)) return parsed
  return { problems: ['must be an https URL, such as https://mirror.example.com, without a query; http is only for this machine'] }
}

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

const pollTime = duration('1s', '3650d')

/** All settings by the keys of the settings file. `config/README.md` lists the same defaults. */
export const settingsSchema = section({
  accounts: items(account, 100).check(checkNames('accounts'), checkAccounts).prefault([]),
  database: section({
    url: value(databaseUrl).prefault('sqlite:data/mirror.db'),
    schema: value(
      matching(/^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/, 'must be a schema name of a-z, 0-9 and _, and none of the system'),
    ).optional(),
    listen_url: value(postgresUrl).optional(),
  })
    .check(checkDatabase)
    .prefault({}),
  migrate_on_start: value(flag).prefault(true),
  receiver: section({
    host: host.prefault('0.0.0.0'),
    port: port.prefault(8080),
    body_limit: value(size('1KiB', '64MiB')).prefault('4MiB'),
    trust_proxy: z.preprocess((given) => (Array.isArray(given) ? given.join(',') : given), value(trustProxy)).prefault('off'),
    public_url: value(publicUrl).optional(),
  }).prefault({}),
  ops: section({
    host: host.prefault('127.0.0.1'),
    port: port.prefault(8081),
    tokens: tokens.check(checkTokens).prefault([]),
    public_url: value(publicUrl).optional(),
    session_idle: value(duration('1m', '30d')).prefault('30m'),
    session_max: value(duration('1m', '30d')).prefault('12h'),
    mcp_actions: value(flag).prefault(false),
    oidc: oidcSchema.optional(),
  })
    .check(checkOrder('ops', ['session_idle', 'session_max']))
    .prefault({}),
  poll: section({
    active: value(pollTime).prefault('60s'),
    quiet: value(pollTime).prefault('15m'),
    max: value(pollTime).prefault('6h'),
    dormant: value(pollTime).prefault('7d'),
  })
    .check(checkOrder('poll', ['active', 'quiet', 'max', 'dormant']))
    .prefault({}),
  replay: section({
    active: value(pollTime).prefault('24h'),
    quiet: value(pollTime).prefault('7d'),
    dormant: value(pollTime).prefault('30d'),
  })
    .check(checkOrder('replay', ['active', 'quiet', 'dormant']))
    .prefault({}),
  upstream: section({
    rps: value(number(0.01, 1_000_000, 'any')).prefault(10),
    concurrency: value(number(1, 256)).prefault(8),
    https_proxy: secret((text) => proxyUrl(text.trim()), '').optional(),
    http_proxy: secret((text) => proxyUrl(text.trim()), '').optional(),
    no_proxy: value(matching(/^[^\p{Cc}]*$/u, 'must be host names, separated by commas')).optional(),
  }).prefault({}),
  retention: section({
    days: value(daysOrOff(36_500)).prefault(30),
    changes_days: value(daysOrOff(36_500)).prefault(400),
    max_share: value(number(1, 100)).prefault(50),
  }).prefault({}),
  reconcile: section({
    cron: value(cronOrOff).prefault('0 3 * * *'),
    budget: value(duration('1s', '30d')).prefault('4h'),
  }).prefault({}),
  cron_timezone: value(timeZone).prefault('UTC'),
  state_reads: items(value(oneOf(stateReadNames)), 20, words).prefault([...stateReadNames]),
  tax_id_fields: items(taxIdField, 100, words).prefault([]),
  protect: section({
    mode: value(oneOf(['drop', 'encrypt', 'keep'])).prefault('drop'),
    keys: protectKeys.prefault([]),
  })
    .check(checkProtect)
    .prefault({}),
  documents: documentsSchema.prefault({}),
  destinations: items(destinationSchema, 100).check(checkNames('destinations')).prefault([]),
  push: section({
    schedule: schedule.prefault(['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h']),
    timeout: timeout.prefault('20s'),
  }).prefault({}),
  operators: items(operatorSchema, 20).check(checkNames('operators')).prefault([]),
  shutdown_grace: value(duration('100ms', '1h')).optional(),
  log: section({
    level: value(oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'])).prefault('info'),
  }).prefault({}),
}).check(checkPorts, checkDestinations)

export type Settings = z.output<typeof settingsSchema>
