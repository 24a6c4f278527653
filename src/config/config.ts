import { UsageError } from '../base/errors.ts'
import { Secret as HiddenText, secretsOfUrl } from '../base/secret.ts'
import type { DestinationConfig } from './destination.ts'
import { destinationOf, secretsOfDestination, soundDestinations, writtenSecrets } from './destinations.ts'
import { type KnownNames, unknownNames } from './known-names.ts'
import { type OperatorConfig, operatorOf, secretsOfOperator, writtenOperatorSecrets } from './operators.ts'
import { type Settings, settingsSchema } from './schema/schema.ts'
import { type Environment, readEnvironment } from './sources/environment.ts'
import { readConfigFile } from './sources/file.ts'
import { mergeReadings } from './sources/merge.ts'

export type {
  AdapterDestination,
  AuthConfig,
  DestinationConfig,
  FileDestination,
  HttpDestination,
  RequestTemplate,
  WebhookDestination,
} from './destination.ts'
export type { EmailOperator, OperatorConfig, WebhookOperator } from './operators.ts'

/** A value that only `reveal` shows: as text, as JSON or inspected it is a mask. */
export interface Secret {
  reveal(): string
}

/** One brokerage credential in one environment of the service. */
export interface AccountConfig {
  /** Part of every key, for ever: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly name: string
  /** Whether `POST /webhooks` without a name is this account's. */
  readonly isDefault: boolean
  /** Without a slash at its end; it includes the version segment, and only the spec's paths are added to it (traps 42, 76, 82). */
  readonly baseUrl: string
  /** At least one; tried in order, so that one can replace the other. */
  readonly credentials: readonly { readonly id: string; readonly secret: Secret }[]
  readonly scope: string
  /** At least one, as given: `whsec_…` or base64, of 24 to 64 bytes. No other account has any of them (trap 36). */
  readonly webhookSecrets: readonly Secret[]
  /** Paths that are probed for ids of submissions, and how often; left out: none is. */
  readonly discovery?: { readonly paths: readonly string[]; readonly everyMs: number }
}

/** Every setting, checked; frozen to its depths. Times are milliseconds, sizes bytes. `config/README.md` says what each means. */
export interface Config {
  readonly accounts: readonly AccountConfig[]
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly url: Secret; readonly schema: string; readonly listenUrl: Secret }
  readonly migrateOnStart: boolean
  readonly receiver: {
    readonly host: string
    readonly port: number
    readonly bodyLimitBytes: number
    /** As Fastify's option of that name: a text is a list of addresses and networks, separated by commas. */
    readonly trustProxy: boolean | string
    /** Where the service reaches it, without a slash at its end; for `doctor`. */
    readonly publicUrl?: string
  }
  readonly ops: {
    readonly host: string
    readonly port: number
    readonly tokens: readonly { readonly name: string; readonly token: Secret }[]
  }
  /** `activeMs` <= `quietMs` <= `maxMs` <= `dormantMs`. */
  readonly poll: { readonly activeMs: number; readonly quietMs: number; readonly maxMs: number; readonly dormantMs: number }
  /** `activeMs` <= `quietMs` <= `dormantMs`. */
  readonly replay: { readonly activeMs: number; readonly quietMs: number; readonly dormantMs: number }
  readonly upstream: {
    readonly requestsPerSecond: number
    readonly concurrency: number
    /** The two URLs may hold a password; see `proxySettings`. */
    readonly proxy: { readonly httpsProxy?: Secret; readonly httpProxy?: Secret; readonly noProxy?: string }
  }
  /** Days that raw deliveries and what was pushed are kept, and that the change log is; null: for ever. */
  readonly retention: { readonly days: number | null; readonly changesDays: number | null }
  /** `cron`: when every account is reconciled, five fields; null: never by itself. */
  readonly reconcile: { readonly cron: string | null; readonly budgetMs: number }
  /** By which timetables count, as the IANA names it. */
  readonly cronTimezone: string
  /** Receivers of changes, in the order of the file. */
  readonly destinations: readonly DestinationConfig[]
  /** Keys under which a tax id stands, beside those that are known (invariant 12). */
  readonly taxIdFields: readonly string[]
  /** Who is told of alarms. */
  readonly operators: readonly OperatorConfig[]
  /** When it was not set: 25 s with a destination that is not idempotent, else 8 s. */
  readonly shutdownGraceMs: number
  /** Whether NODE_EXTRA_CA_CERTS names a file; Node itself has read it, before the program began. */
  readonly extraCa: boolean
  readonly log: { readonly level: string }
}

export interface LoadOptions {
  /** What the command cannot do without: an account (the default), or only the database. What is set is checked all the same. */
  readonly needs?: 'accounts' | 'database'
  /** What a destination may name; when left out, such names are not looked at. */
  readonly known?: KnownNames
}

/** Something is wrong with the settings. */
export class SettingsError extends UsageError {
  /** The destinations that are right by themselves, so that whoever knows more of destinations can say at once what else is wrong. */
  readonly destinations: readonly DestinationConfig[]

  constructor(problems: readonly string[], destinations: readonly DestinationConfig[]) {
    super(problems)
    this.destinations = destinations
  }
}

/**
 * Reads the settings: those of the environment, then those of the file that `CONFIG_FILE` names, then the defaults.
 * @param env the process's environment.
 * @throws SettingsError with every problem at once, each one line that names the setting and the mend and never a value.
 */
export function loadConfig(env: Environment, options: LoadOptions = {}): Config {
  const file = readConfigFile(env)
  const environment = readEnvironment(env, file.variables)
  const merged = mergeReadings(environment, file)
  const parsed = settingsSchema.safeParse(merged.tree)
  const problems = [...merged.problems, ...(parsed.success ? [] : merged.problemsOf(parsed.error.issues))]
  problems.push(...writtenOperatorSecrets(file.tree, file.references))
  problems.push(...writtenSecrets(file.tree, file.references), ...unknownNames(merged.tree['destinations'], options.known))
  const accounts = merged.tree['accounts'] ?? []
  const noAccount = Array.isArray(accounts) && accounts.length === 0 && !file.broken
  if (noAccount && options.needs !== 'database') problems.push(NO_ACCOUNT)
  if (!parsed.success || problems.length > 0) {
    throw new SettingsError([...new Set(problems)], soundDestinations(merged.tree['destinations']))
  }
  return deepFreeze({ ...configOf(parsed.data), extraCa: (env['NODE_EXTRA_CA_CERTS'] ?? '').trim() !== '' })
}

const NO_ACCOUNT =
  'No account is set; set BROKER_API_BASE_URL, BROKER_API_CLIENT_ID, BROKER_API_CLIENT_SECRET and WEBHOOK_SECRETS, or list accounts in CONFIG_FILE'

/** How long work in hand may take. A try that is cut off on the way to a target that is not idempotent is for a person to look into. */
const GRACE_MS = 8_000
const LONG_GRACE_MS = 25_000

function configOf(settings: Settings): Omit<Config, 'extraCa'> {
  const { receiver, ops, poll, replay, upstream, push } = settings
  const defaults = {
    accounts: settings.accounts.map(({ name }) => name),
    taxIdFields: settings.tax_id_fields,
    timeoutMs: push.timeout,
    scheduleMs: push.schedule,
  }
  const destinations = settings.destinations.map((destination) => destinationOf(destination, defaults))
  return {
    accounts: settings.accounts.map((account) => ({
      name: account.name,
      isDefault: account.default,
      baseUrl: account.base_url,
      credentials: account.client_credentials,
      scope: account.scope,
      webhookSecrets: account.webhook_secrets,
      ...(account.discovery && { discovery: { paths: [...new Set(account.discovery.paths)], everyMs: account.discovery.every } }),
    })),
    database: databaseOf(settings.database),
    migrateOnStart: settings.migrate_on_start,
    receiver: {
      host: receiver.host,
      port: receiver.port,
      bodyLimitBytes: receiver.body_limit,
      trustProxy: receiver.trust_proxy,
      ...(receiver.public_url !== undefined && { publicUrl: receiver.public_url }),
    },
    ops,
    poll: { activeMs: poll.active, quietMs: poll.quiet, maxMs: poll.max, dormantMs: poll.dormant },
    replay: { activeMs: replay.active, quietMs: replay.quiet, dormantMs: replay.dormant },
    upstream: {
      requestsPerSecond: upstream.rps,
      concurrency: upstream.concurrency,
      proxy: {
        ...(upstream.https_proxy && { httpsProxy: upstream.https_proxy }),
        ...(upstream.http_proxy && { httpProxy: upstream.http_proxy }),
        ...(upstream.no_proxy && { noProxy: upstream.no_proxy }),
      },
    },
    retention: { days: settings.retention.days, changesDays: settings.retention.changes_days },
    reconcile: { cron: settings.reconcile.cron, budgetMs: settings.reconcile.budget },
    cronTimezone: settings.cron_timezone,
    destinations,
    taxIdFields: settings.tax_id_fields,
    operators: settings.operators.map(operatorOf),
    shutdownGraceMs: settings.shutdown_grace ?? (destinations.every(({ idempotent }) => idempotent) ? GRACE_MS : LONG_GRACE_MS),
    log: settings.log,
  }
}

function databaseOf({ url, schema = 'mirror', listen_url }: Settings['database']): Config['database'] {
  if (url.kind === 'sqlite') return url
  return { kind: 'postgres', url: new HiddenText(url.url), schema, listenUrl: new HiddenText(listen_url ?? url.url) }
}

/** @returns the proxies as the HTTP client takes them, passwords included: for its hands only. */
export function proxySettings(config: Config): { readonly httpsProxy?: string; readonly httpProxy?: string; readonly noProxy?: string } {
  const { httpsProxy, httpProxy, noProxy } = config.upstream.proxy
  return {
    ...(httpsProxy && { httpsProxy: httpsProxy.reveal() }),
    ...(httpProxy && { httpProxy: httpProxy.reveal() }),
    ...(noProxy && { noProxy }),
  }
}

/** @returns every secret that the settings hold, in each form in which it could turn up in a text: for the log to mask. */
export function secretValues(config: Config): string[] {
  const urls = [config.upstream.proxy.httpsProxy, config.upstream.proxy.httpProxy]
  if (config.database.kind === 'postgres') urls.push(config.database.url, config.database.listenUrl)
  const values = [
    ...config.accounts.flatMap((account) => account.credentials.map((credential) => credential.secret.reveal())),
    ...config.accounts.flatMap((account) => account.webhookSecrets.map((secret) => secret.reveal().replace(/^whsec_/, ''))),
    ...config.ops.tokens.map(({ token }) => token.reveal()),
    ...config.destinations.flatMap(secretsOfDestination),
    ...config.operators.flatMap(secretsOfOperator),
    ...urls.flatMap((url) => (url ? secretsOfUrl(url.reveal()) : [])),
  ]
  return [...new Set(values)]
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}
