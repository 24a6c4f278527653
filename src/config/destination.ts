import type { Secret as HiddenText } from '../base/secret.ts'

/** A value that only `reveal` shows. */
type Secret = Pick<HiddenText, 'reveal'>

/** What every destination has, whatever its kind. */
interface DestinationBase {
  /** Part of every key, for ever: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly name: string
  /** Names of accounts whose changes it gets; at least one. */
  readonly accounts: readonly string[]
  /** Names of public tables; null: all of them. */
  readonly entities: readonly string[] | null
  /** `insert`, `update`, `gone`; null: all of them. */
  readonly operations: readonly string[] | null
  /** Values of `market_events.type`; null: all of them. Other entities are not filtered by it. */
  readonly eventTypes: readonly string[] | null
  /** `<entity>.<column>` of personal data that may go out; all other personal columns are left out of every push. */
  readonly personalFields: readonly string[]
  /** Keys under which a tax id stands, beside those that are known: what stands there goes out to nobody, as the settings say for all. */
  readonly taxIdFields: readonly string[]
  /** Where a destination that was never seen before begins: behind the newest change, with a snapshot of all rows, or behind a seq. */
  readonly start: 'now' | 'snapshot' | number
  /** Whether changes with cause `backfill` are sent. */
  readonly backfill: boolean
  /** Events and messages that happened longer ago are skipped; null: none is. */
  readonly maxAgeMs: number | null
  /** What a lane does after a dead letter, or one whose outcome nobody knows. */
  readonly onDead: 'continue' | 'hold'
  /** `required`: a submission's changes wait until it is mapped; `lookup`: until the delivery kind has found its client. */
  readonly mapping: 'none' | 'required' | 'lookup'
  /** Whether it may lie on a loopback, private or link-local address. */
  readonly allowPrivate: boolean
  /** The only hosts that are ever connected to; null: no such list. */
  readonly allowHosts: readonly string[] | null
  /** The longest that one try may take. */
  readonly timeoutMs: number
  /** Waiting times between tries; one more try than it has entries. */
  readonly scheduleMs: readonly number[]
  /** Tries a second, over all processes; null: no limit. */
  readonly requestsPerSecond: number | null
  /** Tries under way at a time, in one process. */
  readonly concurrency: number
  /** Whether the same message may be sent twice without harm; when not, an unknown outcome is never repeated blindly. */
  readonly idempotent: boolean
}

/** Standard Webhooks. */
export interface WebhookDestination extends DestinationBase {
  readonly kind: 'webhook'
  readonly url: string
  /** One or two, `whsec_…` or base64; each signs, so that the receiver can change from one to the other. */
  readonly secrets: readonly Secret[]
}

/** How a request is made: every member but `method` and `format` is a JSONata expression. */
export interface RequestTemplate {
  readonly method: string
  /** Yields the whole URL as text. */
  readonly url: string
  /** Header name to expression that yields its text. */
  readonly headers: Readonly<Record<string, string>>
  /** How what `body` yields is written. */
  readonly format: 'json' | 'xml' | 'form'
  readonly body: string | null
}

export type AuthConfig =
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      readonly clientId: string
      readonly clientSecret: Secret
      readonly scope: string | null
      readonly audience: string | null
      /** Where the client's id and secret go. */
      readonly send: 'basic' | 'body'
    }
  | {
      readonly type: 'password'
      readonly tokenUrl: string
      readonly username: string
      readonly password: Secret
      readonly clientId: string | null
      readonly clientSecret: Secret | null
      readonly scope: string | null
    }
  | { readonly type: 'basic'; readonly username: string; readonly password: Secret }
  | { readonly type: 'bearer'; readonly token: Secret }
  | { readonly type: 'header'; readonly name: string; readonly value: Secret }

/** One templated request for REST and SOAP systems. */
export interface HttpDestination extends DestinationBase {
  readonly kind: 'http'
  /** Values that templates see as `settings`; never a secret. */
  readonly settings: Readonly<Record<string, string>>
  readonly auth: AuthConfig | null
  readonly request: RequestTemplate
  /** Used instead of `request` when the record's remote id is known. */
  readonly update: RequestTemplate | null
  /** Asks whether our message is there already: `found` yields its remote id as text, or null. */
  readonly lookup: (RequestTemplate & { readonly found: string }) | null
  /** A harmless request for `doctor` and `destination test`. */
  readonly probe: RequestTemplate | null
  /** Over `{status, headers, body}`, yields a boolean; null: every 2xx is a success. */
  readonly success: string | null
  /** The same; true means that the target has it already, which counts as delivered. */
  readonly duplicate: string | null
  /** The same; yields the remote id as text, or null. */
  readonly remoteId: string | null
  /** Statuses that say that the credential was withdrawn. */
  readonly parkOn: readonly number[]
}

/** An AMS that needs several steps; `adapter` is the name of a file in `src/push/adapters/`. */
export interface AdapterDestination extends DestinationBase {
  readonly kind: 'adapter'
  readonly adapter: string
  readonly url: string
  readonly settings: Readonly<Record<string, string>>
  readonly credentials: Readonly<Record<string, Secret>>
}

/** Drops of files. */
export interface FileDestination extends DestinationBase {
  readonly kind: 'file'
  readonly format: 'ndjson' | 'csv'
  /** One file for whatever waits, or one for each submission. */
  readonly per: 'batch' | 'submission'
  readonly target:
    | { readonly type: 'folder'; readonly path: string }
    | {
        readonly type: 'sftp'
        readonly host: string
        readonly port: number
        readonly username: string
        readonly password: Secret | null
        readonly privateKey: Secret | null
        /** The server's key: `SHA256:…` as ssh-keygen prints it. */
        readonly hostKey: string
        readonly path: string
      }
  /** Rows in a file at most. */
  readonly maxRows: number
  /** How long changes are gathered before a file is written. */
  readonly gatherMs: number
}

export type DestinationConfig = WebhookDestination | HttpDestination | AdapterDestination | FileDestination
