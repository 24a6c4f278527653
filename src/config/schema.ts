import { z } from 'zod'
import { checkAccounts, checkDatabase, checkOrder, checkPorts, checkTokens } from './cross-checks.ts'
import { databaseUrl, postgresUrl } from './database-url.ts'
import { distance, nearest } from './names.ts'
import { tidyKey } from './reading.ts'
import { Secret } from './secret.ts'
import {
  anySecret,
  baseUrl,
  duration,
  flag,
  good,
  matching,
  number,
  oneOf,
  type Parsed,
  proxyUrl,
  size,
  trustProxy,
  webhookSecret,
} from './values.ts'

// Every message here follows the name of its setting, and is made of fixed words: never of a value.

/** One value: the environment gives text; the file may give a number or a boolean too. */
function value<T>(parse: (text: string) => Parsed<T>, missing = 'is missing; set it') {
  const single = z.union([z.string(), z.number(), z.boolean()], {
    error: (issue) => (issue.input === undefined ? missing : 'must be a single value'),
  })
  return single.transform((given, context) => take(parse(String(given).trim()), context))
}

/** A text that is shown to nobody. The file must quote one that looks like a number, which would lose digits. */
function secret(parse: (text: string) => Parsed<string>, missing: string) {
  const text = z.string({ error: (issue) => (issue.input === undefined ? missing : 'must be text; put it in quotes') })
  return text.transform((given, context) => {
    const parsed = parse(given)
    return take('value' in parsed ? good(new Secret(parsed.value)) : parsed, context)
  })
}

function take<T>(parsed: Parsed<T>, context: z.RefinementCtx): T {
  if ('value' in parsed) return parsed.value
  for (const message of parsed.problems) context.addIssue(message)
  return z.NEVER
}

/** Keys and values, and no other keys than those of `shape`; a message for several unknown keys has a line for each. */
function section<S extends z.core.$ZodLooseShape>(shape: S) {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return issue.input === undefined ? 'is missing; set it' : 'must hold keys and values'
      return issue.keys.map((key) => unknownKey(key, Object.keys(shape))).join('\n')
    },
  })
}

function unknownKey(key: string, known: readonly string[]): string {
  const near = nearest(key, known)
  const hint =
    key.length <= 40 && distance(key, near) <= 1 + near.length / 3 ? `the nearest one is ${near}` : `known are ${known.join(', ')}`
  return `has an unknown key, ${tidyKey(key)}; ${hint}`
}

/** A list; a single text is taken apart by `split`, so that one variable can hold several values. */
function items<T extends z.ZodType>(item: T, max: number, split?: (text: string) => unknown[]) {
  const all = z
    .array(item, { error: (issue) => (issue.input === undefined ? 'is missing; set it' : 'must be a list') })
    .max(max, `must not hold more than ${max}`)
  return z.preprocess((given) => (split && typeof given === 'string' ? split(given) : given), all)
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '')
}

function tokenPairs(text: string): unknown[] {
  return text
    .split(/\s+/)
    .filter((pair) => pair !== '')
    .map((pair) => {
      const colon = pair.indexOf(':')
      return { name: pair.slice(0, Math.max(colon, 0)), token: pair.slice(colon + 1) }
    })
}

const host = value(matching(/^[A-Za-z0-9.:_-]+$/, 'must be an address to listen on, such as 0.0.0.0, 127.0.0.1 or ::'))
const port = value(number(0, 65_535))

const account = section({
  name: value(
    matching(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter or digit'),
    'is missing; give the account a name, which stays its key for ever',
  ),
  default: value(flag).prefault(false),
  base_url: value(baseUrl, "is missing; set it to the service's base URL, version segment included"),
  client_credentials: items(
    section({
      id: value(matching(/^[\x21-\x7e]+$/, 'must be a client id, without spaces'), 'is missing; set it to the client id from the portal'),
      secret: secret(anySecret, 'is missing; set it to the client secret from the portal'),
    }),
    10,
  ).refine(holdsSome, 'must hold at least one pair of id and secret'),
  scope: value(matching(/^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/, 'must be one or more scopes, separated by single spaces')).prefault(
    'broker_mcp',
  ),
  webhook_secrets: items(secret(webhookSecret, 'is missing; set it to the signing secret from the portal'), 10, words).refine(
    holdsSome,
    'must hold the signing secret of the webhook endpoint',
  ),
})

function holdsSome(values: readonly unknown[]): boolean {
  return values.length > 0
}

const tokens = items(
  section({
    name: value(matching(/^[A-Za-z0-9][\w.-]{0,62}$/, 'must be name:token, with a name of letters, digits, _, . and -')),
    token: secret(matching(/^[\x21-\x7e]{16,512}$/, 'must have a token of at least 16 characters, without spaces'), 'is missing; set it'),
  }),
  100,
  tokenPairs,
)

const pollTime = duration('1s', '3650d')

/** Every setting, by the keys of the settings file; the defaults are those of `config/README.md`. */
export const settingsSchema = section({
  accounts: items(account, 100).check(checkAccounts).prefault([]),
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
  }).prefault({}),
  ops: section({
    host: host.prefault('127.0.0.1'),
    port: port.prefault(8081),
    tokens: tokens.check(checkTokens).prefault([]),
  }).prefault({}),
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
    rps: value(number(0.01, 1000, 'any')).prefault(10),
    concurrency: value(number(1, 256)).prefault(8),
    https_proxy: secret((text) => proxyUrl(text.trim()), '').optional(),
    http_proxy: secret((text) => proxyUrl(text.trim()), '').optional(),
    no_proxy: value(matching(/^[^\p{Cc}]*$/u, 'must be host names, separated by commas')).optional(),
  }).prefault({}),
  shutdown_grace: value(duration('100ms', '1h')).prefault('8s'),
  log: section({
    level: value(oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'])).prefault('info'),
  }).prefault({}),
}).check(checkPorts)

export type Settings = z.output<typeof settingsSchema>
