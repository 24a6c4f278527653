/** Where a value lies in the settings file: keys, and positions in lists. */
export type Path = readonly (string | number)[]

/** One setting that the environment knows. */
export interface Setting {
  readonly env: string
  /** The same setting in the settings file. */
  readonly path: Path
  /** Whether `<env>_FILE` may name a file that holds the value. */
  readonly file?: true
  /** Whether the name in lower case counts too (and first), as it does for other programs. */
  readonly lowerCase?: true
}

/** Every setting of the environment; `config/README.md` describes them in the same order. */
export const settings: readonly Setting[] = [
  { env: 'DATABASE_URL', path: ['database', 'url'], file: true },
  { env: 'DATABASE_SCHEMA', path: ['database', 'schema'] },
  { env: 'DATABASE_LISTEN_URL', path: ['database', 'listen_url'], file: true },
  { env: 'MIGRATE_ON_START', path: ['migrate_on_start'] },
  { env: 'ACCOUNT', path: ['accounts', 0, 'name'] },
  { env: 'BROKER_API_BASE_URL', path: ['accounts', 0, 'base_url'] },
  { env: 'BROKER_API_CLIENT_ID', path: ['accounts', 0, 'client_credentials', 0, 'id'] },
  { env: 'BROKER_API_CLIENT_SECRET', path: ['accounts', 0, 'client_credentials', 0, 'secret'], file: true },
  { env: 'BROKER_API_SCOPE', path: ['accounts', 0, 'scope'] },
  { env: 'WEBHOOK_SECRETS', path: ['accounts', 0, 'webhook_secrets'], file: true },
  { env: 'HOST', path: ['receiver', 'host'] },
  { env: 'PORT', path: ['receiver', 'port'] },
  { env: 'WEBHOOK_BODY_LIMIT', path: ['receiver', 'body_limit'] },
  { env: 'TRUST_PROXY', path: ['receiver', 'trust_proxy'] },
  { env: 'PUBLIC_URL', path: ['receiver', 'public_url'] },
  { env: 'OPS_HOST', path: ['ops', 'host'] },
  { env: 'OPS_PORT', path: ['ops', 'port'] },
  { env: 'OPS_TOKENS', path: ['ops', 'tokens'], file: true },
  { env: 'POLL_ACTIVE', path: ['poll', 'active'] },
  { env: 'POLL_QUIET', path: ['poll', 'quiet'] },
  { env: 'POLL_MAX', path: ['poll', 'max'] },
  { env: 'POLL_DORMANT', path: ['poll', 'dormant'] },
  { env: 'REPLAY_ACTIVE', path: ['replay', 'active'] },
  { env: 'REPLAY_QUIET', path: ['replay', 'quiet'] },
  { env: 'REPLAY_DORMANT', path: ['replay', 'dormant'] },
  { env: 'UPSTREAM_RPS', path: ['upstream', 'rps'] },
  { env: 'UPSTREAM_CONCURRENCY', path: ['upstream', 'concurrency'] },
  { env: 'HTTPS_PROXY', path: ['upstream', 'https_proxy'], lowerCase: true },
  { env: 'HTTP_PROXY', path: ['upstream', 'http_proxy'], lowerCase: true },
  { env: 'NO_PROXY', path: ['upstream', 'no_proxy'], lowerCase: true },
  { env: 'RETENTION_DAYS', path: ['retention', 'days'] },
  { env: 'CHANGES_RETENTION_DAYS', path: ['retention', 'changes_days'] },
  { env: 'RECONCILE_CRON', path: ['reconcile', 'cron'] },
  { env: 'RECONCILE_BUDGET', path: ['reconcile', 'budget'] },
  { env: 'CRON_TIMEZONE', path: ['cron_timezone'] },
  { env: 'TAX_ID_FIELDS', path: ['tax_id_fields'] },
  { env: 'SHUTDOWN_GRACE', path: ['shutdown_grace'] },
  { env: 'LOG_LEVEL', path: ['log', 'level'] },
]

/** Settings of parts of the program that are still to come: whoever sets one is told that it does nothing yet. */
const FUTURE = ['DOCUMENTS_DIR']

/** @returns a sentence about the variables that are set and that no part of this release reads; null when there is none. */
export function futureVariables(env: Readonly<Record<string, string | undefined>>): string | null {
  const given = FUTURE.filter((name) => (env[name] ?? '').trim() !== '')
  if (given.length === 0) return null
  const verb = given.length === 1 ? 'does' : 'do'
  return `${given.join(', ')} ${verb} nothing in this release: the part of the program that reads ${given.length === 1 ? 'it' : 'them'} is still to come`
}

/** Names that begin like this are ours, so that an unknown one is a mistake and not another program's variable. */
const OUR_PREFIX = /^(?:BROKER_API|WEBHOOK|POLL|REPLAY|RECONCILE|RETENTION|CHANGES_RETENTION|UPSTREAM|OPS|DATABASE)_/
/** What Kubernetes sets in every container for a service that happens to be named `ops` or `database`. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP)(?:_\w+)?$|_PORT$/

/** @returns one problem for each variable that looks like one of ours, is none, and is not among those that the settings file refers to. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>, referred: ReadonlySet<string>): string[] {
  const known = settings.flatMap((setting) => (setting.file ? [setting.env, `${setting.env}_FILE`] : [setting.env]))
  const isMeant = (name: string) => known.includes(name) || referred.has(name) || isServiceLink(name, env[name])
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && OUR_PREFIX.test(name) && !isMeant(name))
    .sort()
    .map((name) => `${name.replace(/\W/g, '?')} is not a known variable; the nearest one is ${nearestVariable(name, known)}`)
}

function nearestVariable(name: string, known: readonly string[]): string {
  const prefix = OUR_PREFIX.exec(name)?.[0] ?? ''
  const without = name.replace(/_FILE$/, '')
  return known.includes(without)
    ? without
    : nearest(
        name,
        known.filter((other) => other.startsWith(prefix)),
      )
}

function isServiceLink(name: string, value = ''): boolean {
  return SERVICE_LINK.test(name) && (!name.endsWith('_PORT') || name.endsWith('_SERVICE_PORT') || /^(?:tcp|udp):/.test(value))
}

/** @returns that of `known` which takes the fewest changes of a letter to become `name`; `known` is not empty. */
export function nearest(name: string, known: readonly string[]): string {
  const start = name.slice(0, 64)
  const byDistance = known.map((other) => ({ other, distance: distance(start, other) })).sort((a, b) => a.distance - b.distance)
  return byDistance[0]?.other ?? ''
}

/** Levenshtein's distance: letters to insert, remove or replace. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
