import type { AccountConfig, Config, DestinationConfig } from '../config/config.ts'
import { sameSettings } from '../config/same-settings.ts'
import { spanText } from '../ops/output/text.ts'

/**
 * Settings that the process uses only at startup, for example to open a database or a port. Changing these
 * settings needs a restart.
 */
const FIXED: readonly { readonly name: string; readonly of: (config: Config) => unknown }[] = [
  { name: 'DATABASE_URL', of: ({ database }) => (database.kind === 'sqlite' ? database.path : database.url) },
  { name: 'DATABASE_SCHEMA', of: ({ database }) => (database.kind === 'sqlite' ? null : database.schema) },
  { name: 'DATABASE_LISTEN_URL', of: ({ database }) => (database.kind === 'sqlite' ? null : ownListenUrl(database)) },
  { name: 'MIGRATE_ON_START', of: (config) => config.migrateOnStart },
  { name: 'HOST', of: (config) => config.receiver.host },
  { name: 'PORT', of: (config) => config.receiver.port },
  { name: 'WEBHOOK_BODY_LIMIT', of: (config) => config.receiver.bodyLimit },
  { name: 'TRUST_PROXY', of: (config) => config.receiver.trustProxy },
  { name: 'OPS_HOST', of: (config) => config.ops.host },
  { name: 'OPS_PORT', of: (config) => config.ops.port },
  { name: 'DOCUMENTS', of: ({ documents }) => documents.mode === 'off' },
  { name: 'DOCUMENTS_DIR', of: (config) => config.documents.dir },
  { name: 'documents.s3', of: ({ documents }) => documents.s3 },
]

/**
 * @returns DATABASE_LISTEN_URL; null if it equals DATABASE_URL, which is its default. A change of DATABASE_URL alone
 * then counts as one changed setting, not two.
 */
function ownListenUrl({ url, listenUrl }: Extract<Config['database'], { kind: 'postgres' }>): string | null {
  return listenUrl.reveal() === url.reveal() ? null : listenUrl.reveal()
}

export interface SettingsChange {
  /** The new settings. Settings that need a restart keep their old values. */
  readonly config: Config
  /** One sentence for each change that applies without a restart. */
  readonly applied: readonly string[]
  /** Names of changed settings that need a restart. */
  readonly needsRestart: readonly string[]
}

export function compareSettings(before: Config, wanted: Config): SettingsChange {
  const needsRestart = FIXED.filter(({ of }) => !sameSettings(of(before), of(wanted))).map(({ name }) => name)
  const { database, migrateOnStart } = before
  const { host, port, bodyLimit, trustProxy } = before.receiver
  const receiver = Object.freeze({ ...wanted.receiver, host, port, bodyLimit, trustProxy })
  const ops = Object.freeze({ ...wanted.ops, host: before.ops.host, port: before.ops.port })
  const mode = needsRestart.includes('DOCUMENTS') ? before.documents.mode : wanted.documents.mode
  const documents = Object.freeze({ ...wanted.documents, mode, dir: before.documents.dir, s3: before.documents.s3 })
  const config: Config = Object.freeze({ ...wanted, database, migrateOnStart, receiver, ops, documents })
  const { accounts: _a, destinations: _d, ops: _o, warnings: _w, overridden: _v, fromEnvironment: _e, ...others } = config
  const other = Object.keys(others).filter((key) => !sameSettings(before[key as keyof Config], config[key as keyof Config]))
  return {
    config,
    needsRestart,
    applied: [
      ...accountChanges(before.accounts, config.accounts),
      ...destinationChanges(before.destinations, config.destinations),
      ...(sameSettings(before.ops.tokens, ops.tokens) ? [] : [`OPS_TOKENS: ${tokensText(ops.tokens)}`]),
      ...(sameSettings(before.ops.oidc, ops.oidc) ? [] : ['ops.oidc: changed']),
      ...(sameSettings(otherOps(before), otherOps(config)) ? [] : ['ops: other settings changed']),
      ...other.map((key) => (key === 'shutdownGraceMs' ? graceText(before, config) : `${nameOf(key)}: changed`)),
    ],
  }
}

function otherOps({ ops: { tokens: _tokens, oidc: _oidc, ...others } }: Config) {
  return others
}

/**
 * @returns a sentence with the new SHUTDOWN_GRACE. The default is longer if a destination isn't idempotent. If only the
 * new settings have such destinations, the sentence names them as the reason.
 */
function graceText(before: Config, now: Config): string {
  const careful = ({ destinations }: Config) => destinations.filter(({ idempotent }) => !idempotent).map(({ name }) => name)
  const [old, names] = [careful(before), careful(now)]
  const why = old.length > 0 || names.length === 0 ? '' : ` (${names.join(', ')} ${names.length === 1 ? "isn't" : "aren't"} idempotent)`
  return `SHUTDOWN_GRACE is now ${spanText(now.shutdownGraceMs)}${why}`
}

function nameOf(key: string): string {
  return key.replace(/Ms$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function accountChanges(before: readonly AccountConfig[], now: readonly AccountConfig[]): string[] {
  const gone = before.filter(({ name }) => !now.some((account) => account.name === name))
  return [
    ...now.flatMap((account) => {
      const old = before.find(({ name }) => name === account.name)
      return old === undefined
        ? [`account ${account.name} is new: its deliveries are accepted and its submissions are read`]
        : differences(old, account)
    }),
    ...gone.map(({ name }) => `account ${name} was removed: its deliveries are rejected and it is no longer read; its rows stay`),
  ]
}

function differences(old: AccountConfig, account: AccountConfig): string[] {
  const { name } = account
  const secrets = account.webhookSecrets.length
  const parts: readonly (readonly [same: boolean, text: string])[] = [
    [sameSettings(old.webhookSecrets, account.webhookSecrets), `${secrets} webhook secret${secrets === 1 ? '' : 's'}, changed`],
    [sameSettings(old.clientCredentials, account.clientCredentials), 'new client credentials'],
    [sameSettings(rest(old), rest(account)), 'other settings changed'],
  ]
  return parts.filter(([same]) => !same).map(([, text]) => `account ${name}: ${text}`)
}

function rest({ webhookSecrets: _secrets, clientCredentials: _credentials, ...others }: AccountConfig) {
  return others
}

function destinationChanges(before: readonly DestinationConfig[], now: readonly DestinationConfig[]): string[] {
  const gone = before.filter(({ name }) => !now.some((destination) => destination.name === name))
  return [
    ...now.flatMap((destination) => {
      const { name } = destination
      const old = before.find((each) => each.name === name)
      if (old === undefined) return [`destination ${name} is new`]
      return sameSettings(old, destination) ? [] : [`destination ${name}: settings changed`]
    }),
    ...gone.map(({ name }) => `destination ${name} was removed: sending to it stopped; its queued changes stay`),
  ]
}

function tokensText(tokens: Config['ops']['tokens']): string {
  return tokens.length === 0 ? 'no tokens are left' : `the tokens of ${tokens.map(({ name }) => name).join(', ')} are valid now`
}
