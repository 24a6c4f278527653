import type { AuthConfig, DestinationConfig, RequestTemplate } from './destination.ts'
import { type DestinationSettings, destinationSchema } from './schema/destination.ts'
import { nameInFile } from './sources/file.ts'
import type { Path } from './sources/names.ts'
import { field, isTree, keyOf, list, shownKey, type Tree } from './sources/reading.ts'

/** Settings that a destination inherits unless it has its own. */
export interface DestinationDefaults {
  /** Names of all accounts. */
  readonly accounts: readonly string[]
  readonly taxIdFields: readonly string[]
  readonly timeoutMs: number
  readonly scheduleMs: readonly number[]
}

type SettingsOf<K extends DestinationSettings['kind']> = Extract<DestinationSettings, { kind: K }>

/** @returns the destination with every default filled in. */
export function destinationOf(settings: DestinationSettings, defaults: DestinationDefaults): DestinationConfig {
  const common = commonOf(settings, defaults)
  switch (settings.kind) {
    case 'webhook': {
      const secrets = settings.secret === undefined ? (settings.secrets ?? []) : [settings.secret]
      return { ...common, kind: 'webhook', url: settings.url, secrets }
    }
    case 'http':
      return { ...common, ...httpOf(settings) }
    case 'adapter': {
      const { adapter, url, settings: values, credentials } = settings
      return { ...common, kind: 'adapter', adapter, url, settings: values, credentials }
    }
    case 'file': {
      const { format, per, max_rows: maxRows, gather: gatherMs, documents } = settings
      return { ...common, kind: 'file', format, per, target: targetOf(settings.target), maxRows, gatherMs, documents }
    }
  }
}

/**
 * @param given the unchecked list of destinations.
 * @returns those that are valid by themselves. Settings that they would inherit are left empty.
 */
export function validDestinations(given: unknown): DestinationConfig[] {
  const none = { accounts: [], taxIdFields: [], timeoutMs: 0, scheduleMs: [] }
  const parsed = list(given).map((destination) => destinationSchema.safeParse(destination))
  return parsed.flatMap(({ data }) => (data === undefined ? [] : [destinationOf(data, none)]))
}

function commonOf(settings: DestinationSettings, defaults: DestinationDefaults) {
  return {
    name: settings.name,
    accounts: settings.accounts ?? defaults.accounts,
    entities: settings.entities ?? null,
    operations: settings.operations ?? null,
    eventTypes: settings.event_types ?? null,
    personalFields: settings.personal_fields,
    taxIdFields: defaults.taxIdFields,
    start: settings.start,
    backfill: settings.backfill,
    maxAgeMs: settings.max_age,
    onDead: settings.on_dead,
    mapping: settings.mapping,
    allowPrivate: settings.allow_private,
    allowHosts: settings.allow_hosts ?? null,
    timeoutMs: settings.timeout ?? defaults.timeoutMs,
    scheduleMs: settings.schedule ?? defaults.scheduleMs,
    requestsPerSecond: settings.rps,
    concurrency: settings.kind === 'file' ? 1 : settings.concurrency,
    idempotent: settings.idempotent,
  }
}

function httpOf(settings: SettingsOf<'http'>) {
  const { lookup } = settings
  return {
    kind: 'http' as const,
    settings: settings.settings,
    auth: settings.auth ? authOf(settings.auth) : null,
    request: requestOf(settings.request),
    update: settings.update ? requestOf(settings.update) : null,
    upload: settings.upload ? requestOf(settings.upload) : null,
    documents: settings.documents,
    lookup: lookup ? { ...requestOf(lookup), found: lookup.found } : null,
    probe: settings.probe ? requestOf(settings.probe) : null,
    success: settings.success ?? null,
    duplicate: settings.duplicate ?? null,
    remoteId: settings.remote_id ?? null,
    parkOn: settings.park_on,
  }
}

function requestOf({ method, url, headers, format, body }: SettingsOf<'http'>['request']): RequestTemplate {
  return { method, url, headers, format, body: body ?? null }
}

function authOf(auth: NonNullable<SettingsOf<'http'>['auth']>): AuthConfig {
  switch (auth.type) {
    case 'oauth2': {
      const { token_url: tokenUrl, client_id: clientId, client_secret: clientSecret, scope = null, audience = null, send } = auth
      return { type: 'oauth2', tokenUrl, clientId, clientSecret, scope, audience, send }
    }
    case 'password': {
      const { token_url: tokenUrl, username, password, client_id: clientId = null, client_secret: clientSecret = null, scope = null } = auth
      return { type: 'password', tokenUrl, username, password, clientId, clientSecret, scope }
    }
    default:
      return auth
  }
}

function targetOf(target: SettingsOf<'file'>['target']): Extract<DestinationConfig, { kind: 'file' }>['target'] {
  if (target.type === 'folder') return target
  const { host, port, username, password = null, private_key: privateKey = null, host_key: hostKey, path } = target
  return { type: 'sftp', host, port, username, password, privateKey, hostKey, path }
}

/** @returns every secret of a destination, in each form in which it could appear in a text. */
export function secretsOfDestination(destination: DestinationConfig): string[] {
  switch (destination.kind) {
    case 'webhook':
      return destination.secrets.map((secret) => secret.reveal().replace(/^whsec_/, ''))
    case 'http':
      return destination.auth ? secretsOfAuth(destination.auth) : []
    case 'adapter':
      return Object.values(destination.credentials).map((secret) => secret.reveal())
    case 'file': {
      const { target } = destination
      if (target.type === 'folder') return []
      const key = target.privateKey?.reveal() ?? ''
      // Single lines too, since a key may be printed with other line breaks.
      const lines = key.split('\n').filter((line) => line.length >= 24 && !line.startsWith('-----'))
      return [target.password?.reveal() ?? '', key, ...lines].filter((text) => text !== '')
    }
  }
}

function secretsOfAuth(auth: AuthConfig): string[] {
  const pair = (user: string, secret: string) => [
    secret,
    encodeURIComponent(secret),
    // Form encoding differs for spaces and a few characters.
    new URLSearchParams({ _: secret }).toString().slice('_='.length),
    Buffer.from(`${user}:${secret}`).toString('base64'),
  ]
  switch (auth.type) {
    case 'oauth2':
      return pair(auth.clientId, auth.clientSecret.reveal())
    case 'password':
      return [
        ...pair(auth.username, auth.password.reveal()),
        ...(auth.clientSecret ? pair(auth.clientId ?? '', auth.clientSecret.reveal()) : []),
      ]
    case 'basic':
      return pair(auth.username, auth.password.reveal())
    case 'bearer':
      return [auth.token.reveal()]
    case 'header':
      return [auth.value.reveal()]
  }
}

/** As `plainTextSecrets`, for destinations. */
export function plainDestinationSecrets(tree: Tree, references: ReadonlySet<string>): string[] {
  return plainTextSecrets(tree, 'destinations', secretPaths, references)
}

/**
 * Finds secrets written into the settings file itself. They must be references, since the file is copied, mailed and put under version
 * control.
 * @param section the key of a list in the file. @param pathsIn where one of its items may have a secret.
 * @param references keys (see `keyOf`) of values that consist of references only.
 * @returns one problem for each such secret.
 */
export function plainTextSecrets(
  tree: Tree,
  section: string,
  pathsIn: (item: unknown) => Path[],
  references: ReadonlySet<string>,
): string[] {
  const paths = list(tree[section]).flatMap((item, index) => pathsIn(item).map((path) => [section, index, ...path]))
  return plainTextAt(tree, paths, references)
}

/** @returns one problem for each of some paths at which a secret stands in the settings file itself. */
export function plainTextAt(tree: Tree, paths: readonly Path[], references: ReadonlySet<string>): string[] {
  return paths
    .filter((path) => typeof path.reduce<unknown>(field, tree) === 'string' && !references.has(keyOf(path)))
    .map(
      (path) =>
        `${nameInFile(path.map(shownKey))} must be a reference, $${'{NAME}'} or $${'{file:PATH}'}; remove the secret from the file and replace it with a new one`,
    )
}

const SINGLE_SECRETS = [
  ['secret'],
  ['auth', 'client_secret'],
  ['auth', 'password'],
  ['auth', 'token'],
  ['auth', 'value'],
  ['target', 'password'],
  ['target', 'private_key'],
]

function secretPaths(destination: unknown): Path[] {
  const below = (key: string): Path[] => {
    const value = field(destination, key)
    if (Array.isArray(value)) return value.map((_, index) => [key, index])
    return isTree(value) ? Object.keys(value).map((name) => [key, name]) : [[key]]
  }
  return [...SINGLE_SECRETS, ...below('secrets'), ...below('credentials')]
}
