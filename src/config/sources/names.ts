/** The place of a value in the settings file: keys, and positions in lists. */
export type Path = readonly (string | number)[]

/** A setting that has a variable. */
export interface Setting {
  readonly env: string
  /** Its place in the settings file. */
  readonly path: Path
  /** Whether `<env>_FILE` may name a file with the value. */
  readonly file?: true
  /** Whether the name in lower case is read too, and first, as other programs do. */
  readonly lowerCase?: true
}

/** All settings of the environment, in the order of `config/README.md`. */
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
  { env: 'OPS_PUBLIC_URL', path: ['ops', 'public_url'] },
  { env: 'OPS_SESSION_IDLE', path: ['ops', 'session_idle'] },
  { env: 'OPS_SESSION_MAX', path: ['ops', 'session_max'] },
  { env: 'OPS_MCP_ACTIONS', path: ['ops', 'mcp_actions'] },
  { env: 'POLL_ACTIVE', path: ['poll', 'active'] },
  { env: 'POLL_QUIET', path: ['poll', 'quiet'] },
  { env: 'POLL_MAX', path: ['poll', 'max'] },
  { env: 'POLL_DORMANT', path: ['poll', 'dormant'] },
  { env: 'REPLAY_ACTIVE', path: ['replay', 'active'] },
  { env: 'REPLAY_QUIET', path: ['replay', 'quiet'] },
  { env: 'REPLAY_DORMANT', path: ['replay', 'dormant'] },
  { env: 'STATE_READS', path: ['state_reads'] },
  { env: 'UPSTREAM_RPS', path: ['upstream', 'rps'] },
  { env: 'UPSTREAM_CONCURRENCY', path: ['upstream', 'concurrency'] },
  { env: 'HTTPS_PROXY', path: ['upstream', 'https_proxy'], lowerCase: true },
  { env: 'HTTP_PROXY', path: ['upstream', 'http_proxy'], lowerCase: true },
  { env: 'NO_PROXY', path: ['upstream', 'no_proxy'], lowerCase: true },
  { env: 'RETENTION_DAYS', path: ['retention', 'days'] },
  { env: 'CHANGES_RETENTION_DAYS', path: ['retention', 'changes_days'] },
  { env: 'RETENTION_MAX_SHARE', path: ['retention', 'max_share'] },
  { env: 'RECONCILE_CRON', path: ['reconcile', 'cron'] },
  { env: 'RECONCILE_BUDGET', path: ['reconcile', 'budget'] },
  { env: 'CRON_TIMEZONE', path: ['cron_timezone'] },
  { env: 'DOCUMENTS', path: ['documents', 'mode'] },
  { env: 'DOCUMENTS_MAX_BYTES', path: ['documents', 'max_bytes'] },
  { env: 'DOCUMENTS_TOTAL_BYTES', path: ['documents', 'total_bytes'] },
  { env: 'DOCUMENT_HOSTS', path: ['documents', 'hosts'] },
  { env: 'DOCUMENTS_DIR', path: ['documents', 'dir'] },
  { env: 'TAX_ID_FIELDS', path: ['tax_id_fields'] },
  { env: 'PROTECT', path: ['protect', 'mode'] },
  { env: 'PROTECT_KEYS', path: ['protect', 'keys'], file: true },
  { env: 'SHUTDOWN_GRACE', path: ['shutdown_grace'] },
  { env: 'LOG_LEVEL', path: ['log', 'level'] },
]

/** An unknown variable with one of these prefixes is a mistake, and not another program's. */
const OWN_PREFIX = /^(?:BROKER_API|WEBHOOK|POLL|REPLAY|RECONCILE|RETENTION|CHANGES_RETENTION|UPSTREAM|OPS|DATABASE|DOCUMENTS?|PROTECT)_/
/** Variables that Kubernetes sets in every container for a service named `ops` or `database`. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_\w+)?$|_PORT_\d+_(?:TCP|UDP)(?:_\w+)?$|_PORT$/

/** @returns one problem for each unknown variable with one of our prefixes. @param referred variables that the settings file refers to. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>, referred: ReadonlySet<string>): string[] {
  const known = settings.flatMap((setting) => (setting.file ? [setting.env, `${setting.env}_FILE`] : [setting.env]))
  const isExpected = (name: string) => known.includes(name) || referred.has(name) || isServiceLink(name, env[name])
  return Object.keys(env)
    .filter((name) => env[name] !== undefined && OWN_PREFIX.test(name) && !isExpected(name))
    .sort()
    .map((name) => `${name.replace(/\W/g, '?')} is not a known variable; the nearest one is ${nearestVariable(name, known)}`)
}

function nearestVariable(name: string, known: readonly string[]): string {
  const prefix = OWN_PREFIX.exec(name)?.[0] ?? ''
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

/** @returns the name in `known` (not empty) with the smallest edit distance to `name`. */
export function nearest(name: string, known: readonly string[]): string {
  const start = name.slice(0, 64)
  const byDistance = known.map((other) => ({ other, distance: distance(start, other) })).sort((a, b) => a.distance - b.distance)
  return byDistance[0]?.other ?? ''
}

/** Levenshtein distance. */
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
