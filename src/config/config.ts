import { UsageError } from '../base/errors.ts'
import type { SecretText } from '../base/secret.ts'
import { type ConfigOf, configOf } from './from-schema.ts'
import { hiddenProblems, overridden } from './hidden-values.ts'
import { type KnownNames, unknownNames } from './known-names.ts'
import { plainSecrets } from './plain-secrets.ts'
import { type DestinationSettings, destinationSchema } from './schema/destination.ts'
import { list } from './schema/reading.ts'
import { type Settings, settingsSchema } from './schema/schema.ts'
import { readEnvironment } from './sources/environment.ts'
import { readConfigFile } from './sources/file.ts'
import { mergeReadings } from './sources/merge.ts'
import { type Environment, misspelled } from './sources/names.ts'
import { extraCaWarnings, versionWarnings } from './warnings.ts'

/**
 * All settings, validated and deeply frozen: what `settingsSchema` describes in the form of `ConfigOf`, with what depends on other settings
 * filled in. Durations are milliseconds, sizes bytes.
 */
export type Config = Readonly<ReturnType<typeof filledIn>> & {
  /** What is not wrong, but probably not meant: a sentence each. */
  readonly warnings: readonly string[]
  /** Which values of the settings file a variable overrides: a sentence each. */
  readonly overridden: readonly string[]
  /** Variables of the environment that give values. A reload doesn't see a change of them. */
  readonly fromEnvironment: readonly string[]
}
/** One brokerage credential in one environment of the service. */
export type AccountConfig = Config['accounts'][number]
export type BucketConfig = NonNullable<Config['documents']['s3']>
export type OidcConfig = NonNullable<Config['ops']['oidc']>
/** A receiver of alarms. */
export type OperatorConfig = Config['operators'][number]
export type WebhookOperator = Extract<OperatorConfig, { kind: 'webhook' }>
export type EmailOperator = Extract<OperatorConfig, { kind: 'email' }>
/** A receiver of changes. */
export type DestinationConfig = Filled<GivenDestination>
export type WebhookDestination = Extract<DestinationConfig, { kind: 'webhook' }>
export type QueueDestination = Extract<DestinationConfig, { kind: 'queue' }>
export type HttpDestination = Extract<DestinationConfig, { kind: 'http' }>
export type AdapterDestination = Extract<DestinationConfig, { kind: 'adapter' }>
export type FileDestination = Extract<DestinationConfig, { kind: 'file' }>
export type AuthConfig = NonNullable<HttpDestination['auth']>
/** A templated request: every member except `method` and `format` is a JSONata expression. */
export type RequestTemplate = HttpDestination['request']

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
    ...hiddenProblems(environment, file),
    ...plainSecrets(file.written),
    ...unknownNames(merged.tree['destinations'], options.known),
  )
  const accounts = merged.tree['accounts'] ?? []
  const noAccount = Array.isArray(accounts) && accounts.length === 0 && !file.broken
  if (noAccount && options.needs !== 'database') problems.push(NO_ACCOUNT)
  if (!parsed.success || problems.length > 0) {
    throw new SettingsError([...new Set(problems)], validDestinations(merged.tree['destinations']))
  }
  const config = filledIn(configOf(settingsSchema, parsed.data))
  const warnings = [...misspelled(env, file.variables), ...versionWarnings(config.accounts), ...extraCaWarnings(env)]
  const direct = [...environment.variables.values()].filter((variable) => !variable.endsWith('_FILE'))
  const fromEnvironment = [...new Set([...direct, ...file.variables])].sort()
  return deepFreeze({ ...config, warnings, overridden: overridden(environment, file), fromEnvironment })
}

const NO_ACCOUNT =
  'No account is set; set BROKER_API_BASE_URL, BROKER_API_CLIENT_ID, BROKER_API_CLIENT_SECRET and WEBHOOK_SECRETS, or list accounts in CONFIG_FILE'

/** Default time to finish work in flight. Longer when a destination is not idempotent: a person must look into each interrupted attempt there. */
const GRACE_MS = 8_000
const LONG_GRACE_MS = 25_000

/** Fills in what depends on other settings. */
function filledIn({ push, ...read }: ConfigOf<Settings>) {
  const inherited = { accounts: read.accounts.map(({ name }) => name), taxIdFields: read.taxIdFields, ...push }
  const destinations: readonly DestinationConfig[] = read.destinations.map((destination) => destinationOf(destination, inherited))
  return {
    ...read,
    destinations,
    operators: read.operators.map((operator) =>
      operator.kind === 'email' ? { ...operator, port: operator.port ?? PORTS[operator.tls] } : operator,
    ),
    shutdownGraceMs: read.shutdownGraceMs ?? (destinations.every(({ idempotent }) => idempotent) ? GRACE_MS : LONG_GRACE_MS),
  }
}

/** Ports of mail servers. */
const PORTS = { starttls: 587, implicit: 465, off: 25 }

/** What a destination has of other settings unless it says otherwise. */
interface Inherited {
  readonly accounts: readonly string[]
  /** Further keys whose values are tax ids. Such values are never sent. */
  readonly taxIdFields: readonly string[]
  readonly timeoutMs: number
  readonly scheduleMs: readonly number[]
}

type GivenDestination = ConfigOf<DestinationSettings>
type Filled<D> = D extends GivenDestination
  ? Omit<D, keyof Inherited | 'preset' | 'secret' | 'secrets' | 'concurrency'> & Inherited & Own<D>
  : never
/** `secrets`: each signs, so that the receiver can replace one by the other. `concurrency`: of files and queues, a batch goes after the other. */
type Own<D> = { readonly concurrency: number } & (D extends { kind: 'webhook' } ? { readonly secrets: readonly SecretText[] } : unknown)

function destinationOf({ preset: _, ...given }: GivenDestination, { taxIdFields, ...inherited }: Inherited): DestinationConfig {
  const { accounts, timeoutMs, scheduleMs } = given
  const common = {
    taxIdFields,
    accounts: accounts ?? inherited.accounts,
    timeoutMs: timeoutMs ?? inherited.timeoutMs,
    scheduleMs: scheduleMs ?? inherited.scheduleMs,
  }
  switch (given.kind) {
    case 'webhook': {
      const { secret, secrets, ...own } = given
      return { ...own, ...common, secrets: secret === null ? (secrets ?? []) : [secret] }
    }
    case 'file':
    case 'queue':
      return { ...given, ...common, concurrency: 1 }
    default:
      return { ...given, ...common }
  }
}

/**
 * @param given the unchecked list of destinations.
 * @returns those that are valid by themselves. Settings that they would inherit are left empty.
 */
function validDestinations(given: unknown): DestinationConfig[] {
  const none = { accounts: [], taxIdFields: [], timeoutMs: 0, scheduleMs: [] }
  const parsed = list(given).map((destination) => destinationSchema.safeParse(destination))
  return parsed.flatMap(({ data }) => (data === undefined ? [] : [destinationOf(configOf(destinationSchema, data), none)]))
}

/** @returns the proxies for the HTTP client, passwords included. Not to be logged. */
export function proxySettings({ upstream: { httpsProxy, httpProxy, noProxy } }: Pick<Config, 'upstream'>): {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
} {
  return {
    ...(httpsProxy && { httpsProxy: httpsProxy.reveal() }),
    ...(httpProxy && { httpProxy: httpProxy.reveal() }),
    ...(noProxy && { noProxy }),
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}
