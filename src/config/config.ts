import { UsageError } from '../base/errors.ts'
import { Secret, type SecretText, secretsOfUrl } from '../base/secret.ts'
import type { DestinationConfig } from './destination.ts'
import { destinationOf, plainDestinationSecrets, secretsOfDestination, validDestinations } from './destinations.ts'
import { type DocumentsConfig, documentsOf, plainDocumentSecrets, secretsOfDocuments } from './documents.ts'
import { type KnownNames, unknownNames } from './known-names.ts'
import { type OidcConfig, oidcOf, plainOidcSecret } from './oidc.ts'
import { type OperatorConfig, operatorOf, plainOperatorSecrets, secretsOfOperator } from './operators.ts'
import type { ProtectConfig } from './protect.ts'
import type { Role } from './schema/roles.ts'
import { type Settings, settingsSchema } from './schema/schema.ts'
import type { StateReadName } from './schema/state-reads.ts'
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

/** One brokerage credential in one environment of the service. */
export interface AccountConfig {
  /** Part of every key, for ever: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly name: string
  /** Whether `POST /webhooks` without an account name belongs to this account. */
  readonly isDefault: boolean
  /** Includes the version segment and has no slash at its end. Only the spec's paths are appended (traps 42, 76, 82). */
  readonly baseUrl: string
  /** At least one. They are tried in order, so that a new one can replace an old one. */
  readonly credentials: readonly { readonly id: string; readonly secret: SecretText }[]
  readonly scope: string
  /** At least one: `whsec_…` or base64 of 24 to 64 bytes. Accounts never share one (trap 36). */
  readonly webhookSecrets: readonly SecretText[]
  /** Paths probed for submission ids, and how often. Left out: none. */
  readonly discovery?: { readonly paths: readonly string[]; readonly everyMs: number }
  /** Paths whose answers are kept: below the base URL, with `{submission_id}` or without. Left out: none. */
  readonly extraReads?: readonly { readonly name: string; readonly path: string; readonly everyMs: number }[]
}

/** All settings, validated and deeply frozen. Times are milliseconds, sizes bytes. `config/README.md` describes each. */
export interface Config {
  readonly accounts: readonly AccountConfig[]
  readonly database:
    | { readonly kind: 'sqlite'; readonly path: string }
    | { readonly kind: 'postgres'; readonly url: SecretText; readonly schema: string; readonly listenUrl: SecretText }
  readonly migrateOnStart: boolean
  readonly receiver: {
    readonly host: string
    readonly port: number
    readonly bodyLimitBytes: number
    /** Fastify's option of that name. Text is a list of addresses and networks, separated by commas. */
    readonly trustProxy: boolean | string
    /** The URL by which the service reaches the receiver, without a slash at its end; for `doctor`. */
    readonly publicUrl?: string
  }
  readonly ops: {
    readonly host: string
    readonly port: number
    readonly tokens: readonly { readonly name: string; readonly token: SecretText; readonly role: Role }[]
    /** The URL by which people reach the ops port; its host is accepted in `Host`. */
    readonly publicUrl?: string
    /** How long who signed in stays so: without a request, and altogether. */
    readonly session: { readonly idleMs: number; readonly maxMs: number }
    /** Whether an assistant with the role `operator` may change something by the Model Context Protocol. */
    readonly mcpActions: boolean
    /** By whom people sign in, beside the tokens. */
    readonly oidc?: OidcConfig
  }
  /** `activeMs` <= `quietMs` <= `maxMs` <= `dormantMs`. */
  readonly poll: { readonly activeMs: number; readonly quietMs: number; readonly maxMs: number; readonly dormantMs: number }
  /** `activeMs` <= `quietMs` <= `dormantMs`. */
  readonly replay: { readonly activeMs: number; readonly quietMs: number; readonly dormantMs: number }
  readonly upstream: {
    readonly requestsPerSecond: number
    readonly concurrency: number
    /** The two URLs may hold a password; see `proxySettings`. */
    readonly proxy: { readonly httpsProxy?: SecretText; readonly httpProxy?: SecretText; readonly noProxy?: string }
  }
  /**
   * Days for which raw deliveries and delivered outbox rows (`days`) and the change log (`changesDays`) are kept. null: for ever. `maxShare`:
   * percent of the kept deliveries or changes that one turn may remove without being confirmed.
   */
  readonly retention: { readonly days: number | null; readonly changesDays: number | null; readonly maxShare: number }
  /** `cron`: five fields, when every account is reconciled; null: never on schedule. */
  readonly reconcile: { readonly cron: string | null; readonly budgetMs: number }
  /** The state reads that are made; `requirements` is always one. */
  readonly stateReads: readonly StateReadName[]
  /** IANA time zone of schedules. */
  readonly cronTimezone: string
  readonly documents: DocumentsConfig
  /** Receivers of changes, in the order of the file. */
  readonly destinations: readonly DestinationConfig[]
  /** Further keys whose values are tax ids, beside the known ones (invariant 12). */
  readonly taxIdFields: readonly string[]
  readonly protect: ProtectConfig
  /** Receivers of alarms. */
  readonly operators: readonly OperatorConfig[]
  /** Default: 25 s with a destination that is not idempotent, otherwise 8 s. */
  readonly shutdownGraceMs: number
  /** Whether NODE_EXTRA_CA_CERTS names a file. Node reads it before the program starts. */
  readonly extraCa: boolean
  readonly log: { readonly level: string }
}

export interface LoadOptions {
  /** What the command needs: an account (the default), or only the database. Settings that are present are checked either way. */
  readonly needs?: 'accounts' | 'database'
  /** Names that destination filters may use. Left out: those names are not checked. */
  readonly known?: KnownNames
}

export class SettingsError extends UsageError {
  /** Destinations without a problem of their own, so that checks outside `config/` can report further problems at the same time. */
  readonly destinations: readonly DestinationConfig[]

  constructor(problems: readonly string[], destinations: readonly DestinationConfig[]) {
    super(problems)
    this.destinations = destinations
  }
}

/**
 * Reads the settings. The environment comes before the file that `CONFIG_FILE` names, and that before the defaults.
 * @param env the process's environment.
 * @throws SettingsError with all problems at once: one line each, which names the setting and what to do, and never a value.
 */
export function loadConfig(env: Environment, options: LoadOptions = {}): Config {
  const file = readConfigFile(env)
  const environment = readEnvironment(env, file.variables)
  const merged = mergeReadings(environment, file)
  const parsed = settingsSchema.safeParse(merged.tree)
  const problems = [...merged.problems, ...(parsed.success ? [] : merged.problemsOf(parsed.error.issues))]
  problems.push(
    ...plainOperatorSecrets(file.tree, file.references),
    ...plainDocumentSecrets(file.tree, file.references),
    ...plainOidcSecret(file.tree, file.references),
  )
  problems.push(...plainDestinationSecrets(file.tree, file.references), ...unknownNames(merged.tree['destinations'], options.known))
  const accounts = merged.tree['accounts'] ?? []
  const noAccount = Array.isArray(accounts) && accounts.length === 0 && !file.broken
  if (noAccount && options.needs !== 'database') problems.push(NO_ACCOUNT)
  if (!parsed.success || problems.length > 0) {
    throw new SettingsError([...new Set(problems)], validDestinations(merged.tree['destinations']))
  }
  return deepFreeze({ ...configOf(parsed.data), extraCa: (env['NODE_EXTRA_CA_CERTS'] ?? '').trim() !== '' })
}

const NO_ACCOUNT =
  'No account is set; set BROKER_API_BASE_URL, BROKER_API_CLIENT_ID, BROKER_API_CLIENT_SECRET and WEBHOOK_SECRETS, or list accounts in CONFIG_FILE'

/** Default time to finish work in flight. Longer when a destination is not idempotent: a person must look into each interrupted attempt there. */
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
  const oidc = oidcOf(ops.oidc)
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
      ...(account.extra_reads.length > 0 && {
        extraReads: account.extra_reads.map(({ name, path, every }) => ({ name, path, everyMs: every })),
      }),
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
    ops: {
      host: ops.host,
      port: ops.port,
      tokens: ops.tokens,
      ...(ops.public_url !== undefined && { publicUrl: ops.public_url }),
      session: { idleMs: ops.session_idle, maxMs: ops.session_max },
      mcpActions: ops.mcp_actions,
      ...(oidc && { oidc }),
    },
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
    retention: { days: settings.retention.days, changesDays: settings.retention.changes_days, maxShare: settings.retention.max_share },
    reconcile: { cron: settings.reconcile.cron, budgetMs: settings.reconcile.budget },
    stateReads: [...new Set<StateReadName>(['requirements', ...settings.state_reads])],
    cronTimezone: settings.cron_timezone,
    documents: documentsOf(settings.documents),
    destinations,
    taxIdFields: settings.tax_id_fields,
    protect: settings.protect,
    operators: settings.operators.map(operatorOf),
    shutdownGraceMs: settings.shutdown_grace ?? (destinations.every(({ idempotent }) => idempotent) ? GRACE_MS : LONG_GRACE_MS),
    log: settings.log,
  }
}

function databaseOf({ url, schema = 'mirror', listen_url }: Settings['database']): Config['database'] {
  if (url.kind === 'sqlite') return url
  return { kind: 'postgres', url: new Secret(url.url), schema, listenUrl: new Secret(listen_url ?? url.url) }
}

/** @returns the proxies for the HTTP client, passwords included. Not to be logged. */
export function proxySettings(config: Pick<Config, 'upstream'>): {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
} {
  const { httpsProxy, httpProxy, noProxy } = config.upstream.proxy
  return {
    ...(httpsProxy && { httpsProxy: httpsProxy.reveal() }),
    ...(httpProxy && { httpProxy: httpProxy.reveal() }),
    ...(noProxy && { noProxy }),
  }
}

/** @returns every secret of the settings, in each form in which it could appear in a text. The log masks them. */
export function secretValues(config: Config): string[] {
  const urls = [config.upstream.proxy.httpsProxy, config.upstream.proxy.httpProxy]
  if (config.database.kind === 'postgres') urls.push(config.database.url, config.database.listenUrl)
  const values = [
    ...config.accounts.flatMap((account) => account.credentials.map((credential) => credential.secret.reveal())),
    ...config.accounts.flatMap((account) => account.webhookSecrets.map((secret) => secret.reveal().replace(/^whsec_/, ''))),
    ...config.ops.tokens.map(({ token }) => token.reveal()),
    ...(config.ops.oidc ? [config.ops.oidc.clientSecret.reveal()] : []),
    ...config.protect.keys.map(({ key }) => key.reveal()),
    ...config.destinations.flatMap(secretsOfDestination),
    ...config.operators.flatMap(secretsOfOperator),
    ...secretsOfDocuments(config.documents),
    ...urls.flatMap((url) => (url ? secretsOfUrl(url.reveal()) : [])),
  ]
  return [...new Set(values)]
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}
