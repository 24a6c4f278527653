import { getCACertificates } from 'node:tls'
import { z } from 'zod'
import { UsageError } from '../base/errors.ts'
import type { SecretText } from '../base/secret.ts'
import { type ConfigOf, configOf } from './from-schema.ts'
import { sameSettings } from './same-settings.ts'
import type { DestinationSettings } from './schema/destination.ts'
import { field, keyOf, shownKey, type Tree } from './schema/reading.ts'
import { type Settings, settingsSchema } from './schema/schema.ts'
import { secretSettings } from './schema/secrets.ts'
import { type EnvironmentReading, readEnvironment } from './sources/environment.ts'
import { type FileReading, nameInFile, REFERENCE, readConfigFile } from './sources/file.ts'
import { mergeReadings } from './sources/merge.ts'
import { type Environment, misspelled, settings } from './sources/names.ts'

/**
 * All settings, checked and deeply frozen: the result of `settingsSchema` in the form of `ConfigOf`. Defaults that
 * depend on other settings are filled in.
 * Durations are in milliseconds, sizes in bytes.
 */
export type Config = Readonly<ReturnType<typeof filledIn>> & {
  /** Sentences about settings that are valid but probably not intended. */
  readonly warnings: readonly string[]
  /** Sentences about values in the settings file that an environment variable overrides. */
  readonly overridden: readonly string[]
  /** Environment variables that set values. A reload doesn't see changes to these variables. */
  readonly fromEnvironment: readonly string[]
}
/** Settings of one account, such as its base URL and credentials. */
export type AccountConfig = Config['accounts'][number]
export type BucketConfig = NonNullable<Config['documents']['s3']>
export type OidcConfig = NonNullable<Config['ops']['oidc']>
/** An alert recipient. */
export type OperatorConfig = Config['operators'][number]
export type WebhookOperator = Extract<OperatorConfig, { kind: 'webhook' }>
export type EmailOperator = Extract<OperatorConfig, { kind: 'email' }>
export type DestinationConfig = Filled<GivenDestination>
export type WebhookDestination = Extract<DestinationConfig, { kind: 'webhook' }>
export type QueueDestination = Extract<DestinationConfig, { kind: 'queue' }>
export type HttpDestination = Extract<DestinationConfig, { kind: 'http' }>
export type Ams360Destination = Extract<DestinationConfig, { kind: 'ams360' }>
export type FileDestination = Extract<DestinationConfig, { kind: 'file' }>
export type AuthConfig = NonNullable<HttpDestination['auth']>
/** A request made from templates. Every value except `method` and `format` is a JSONata expression. */
export type RequestTemplate = HttpDestination['request']

/**
 * Reads the settings. The environment overrides the file named by `CONFIG_FILE`. The file overrides the defaults.
 * @param needs `accounts`: at least one account is required. `database`: no account is required. In both cases, all
 * settings that are present are checked.
 * @throws UsageError with one line for each problem: the setting and what to do, without its value.
 */
export function loadConfig(env: Environment, needs: 'accounts' | 'database' = 'accounts'): Config {
  const file = readConfigFile(env)
  const environment = readEnvironment(env, file.variables)
  const merged = mergeReadings(environment, file)
  const parsed = settingsSchema.safeParse(merged.tree)
  const problems = [...merged.problems, ...(parsed.success ? [] : merged.problemsOf(parsed.error.issues)), ...plainSecrets(file.written)]
  const accounts = merged.tree['accounts'] ?? []
  const noAccount = Array.isArray(accounts) && accounts.length === 0 && !file.broken
  if (noAccount && needs === 'accounts') problems.push(NO_ACCOUNT)
  if (!parsed.success || problems.length > 0) throw new UsageError([...new Set(problems)])
  const config = filledIn(configOf(settingsSchema, parsed.data))
  const warnings = [...misspelled(env, file.variables), ...versionWarnings(config.accounts), ...extraCaWarnings(env)]
  const direct = [...environment.variables.values()].filter((variable) => !variable.endsWith('_FILE'))
  const fromEnvironment = [...new Set([...direct, ...file.variables])].sort()
  return deepFreeze({ ...config, warnings, overridden: overridden(environment, file), fromEnvironment })
}

const NO_ACCOUNT =
  'No account is set; set BROKER_API_BASE_URL, BROKER_API_CLIENT_ID, BROKER_API_CLIENT_SECRET and WEBHOOK_SECRETS, or list accounts in CONFIG_FILE'

/**
 * Default time to finish work in flight at shutdown. LONG_GRACE_MS applies if a destination isn't idempotent, because a
 * person must resolve each interrupted attempt.
 */
const GRACE_MS = 8_000
const LONG_GRACE_MS = 25_000

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

const PORTS = { starttls: 587, implicit: 465, off: 25 }

/** Defaults that a destination takes from other settings. */
interface Inherited {
  readonly accounts: readonly string[]
  /** Further keys whose values are tax ids. Tax ids are never sent. */
  readonly taxIdFields: readonly string[]
  readonly timeoutMs: number
  readonly scheduleMs: readonly number[]
}

type GivenDestination = ConfigOf<DestinationSettings>
type Filled<D> = D extends GivenDestination
  ? Omit<D, keyof Inherited | 'preset' | 'secret' | 'secrets' | 'concurrency'> & Inherited & Own<D>
  : never
/**
 * `secrets`: each push is signed with all secrets, so that the receiver can rotate them. `concurrency`: 1 for files and
 * queues.
 */
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

/** @returns the proxies for the HTTP client. The URLs contain passwords, so don't log them. */
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

/**
 * Finds secrets in plain text in the settings file. The file is copied, mailed, and versioned, so secrets must be
 * references.
 * @param written the file, with each reference replaced by `REFERENCE`.
 * @returns one problem for each setting that contains a secret in plain text.
 */
function plainSecrets(written: Tree): string[] {
  const isPlain = (part: string) => part.replaceAll(REFERENCE, '') !== ''
  return [...secretSettings(settingsSchema, written)]
    .filter(({ parts }) => parts.some(isPlain))
    .map(({ path, isWhole }) => {
      const must = isWhole ? 'must be a reference' : 'must hold its secret as a reference'
      const fix = 'remove the secret from the file and replace it with a new one'
      return `${nameInFile(path.map(shownKey))} ${must}, $${'{NAME}'} or $${'{file:PATH}'}; ${fix}`
    })
}

/**
 * @returns one sentence for each value of the settings file that an environment variable overrides with a different
 * value.
 */
function overridden(environment: EnvironmentReading, file: FileReading): string[] {
  return settings.flatMap(({ path, schema }) => {
    const variable = environment.variables.get(keyOf(path))
    const [inFile, given] = [file.tree, environment.tree].map((tree) => path.reduce<unknown>(field, tree))
    // Accounts come either from the environment or from the file, so neither overrides the other.
    if (variable === undefined || inFile === undefined || path[0] === 'accounts') return []
    if (sameSettings(z.safeParse(schema, inFile).data, z.safeParse(schema, given).data)) return []
    return [`${nameInFile(path)} is overridden by ${variable}; unset ${variable} to use the file`]
  })
}

/** @returns a warning for each base URL that doesn't end with a version segment. */
function versionWarnings(accounts: readonly { readonly name: string; readonly baseUrl: string }[]): string[] {
  return accounts
    .filter(({ baseUrl }) => !/\/v\d+$/.test(baseUrl))
    .map(
      ({ name, baseUrl }) =>
        `the base URL of account ${name}, ${baseUrl}, does not end with a version segment such as /api/v1, and none is added. Compare it ` +
        'with the address in the portal',
    )
}

/**
 * @returns a warning if the file in NODE_EXTRA_CA_CERTS has no readable certificates. Node reads this file only at its
 * start and doesn't report the problem.
 */
function extraCaWarnings(env: Environment): string[] {
  if ((env['NODE_EXTRA_CA_CERTS'] ?? '').trim() === '' || getCACertificates('extra').length > 0) return []
  return [
    'NODE_EXTRA_CA_CERTS names a file without readable certificates, so your own CA is not trusted; ' +
      'name a readable file with PEM certificates (-----BEGIN CERTIFICATE-----) and restart',
  ]
}
