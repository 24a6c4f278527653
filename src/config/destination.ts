import type { SecretText } from '../base/secret.ts'

/** Settings of every kind of destination. */
interface DestinationBase {
  /** Part of every key, for ever: `[a-z0-9][a-z0-9_-]{0,62}`. */
  readonly name: string
  /** Accounts whose changes it receives; at least one. */
  readonly accounts: readonly string[]
  /** Names of public tables; null: all of them. */
  readonly entities: readonly string[] | null
  /** `insert`, `update`, `gone`; null: all of them. */
  readonly operations: readonly string[] | null
  /** Values of `market_events.type`; null: all of them. Other entities are not filtered by it. */
  readonly eventTypes: readonly string[] | null
  /** Personal columns that may be sent, as `<entity>.<column>`. All others are left out of every push. */
  readonly personalFields: readonly string[]
  /** Further keys whose values are tax ids, as `Config.taxIdFields`. Such values are never sent. */
  readonly taxIdFields: readonly string[]
  /** Where a new destination starts: after the newest change, with a snapshot of all rows, or after a `seq`. */
  readonly start: 'now' | 'snapshot' | number
  /** Whether changes with cause `backfill` are sent. */
  readonly backfill: boolean
  /** Older events and messages are skipped; null: none. */
  readonly maxAgeMs: number | null
  /** What a lane does after a dead letter or an unknown outcome. */
  readonly onDead: 'continue' | 'hold'
  /** `required`: a submission's changes wait until it is mapped. `lookup`: they wait until the adapter has found its client. */
  readonly mapping: 'none' | 'required' | 'lookup'
  /** Whether loopback, private and link-local addresses are allowed. */
  readonly allowPrivate: boolean
  /** The only hosts that may be connected to; null: any. */
  readonly allowHosts: readonly string[] | null
  /** Limit for one attempt. */
  readonly timeoutMs: number
  /** Waits between attempts; there is one attempt more than entries. */
  readonly scheduleMs: readonly number[]
  /** Attempts a second over all processes; null: no limit. */
  readonly requestsPerSecond: number | null
  /** Attempts in flight in one process. */
  readonly concurrency: number
  /** Whether sending a message twice is harmless. If not, an attempt with an unknown outcome is not repeated without a lookup or an operator. */
  readonly idempotent: boolean
}

/** Standard Webhooks. */
export interface WebhookDestination extends DestinationBase {
  readonly kind: 'webhook'
  readonly url: string
  /** One or two, `whsec_…` or base64. Each signs, so that the receiver can replace one by the other. */
  readonly secrets: readonly SecretText[]
}

/** A templated request: every member except `method` and `format` is a JSONata expression. */
export interface RequestTemplate {
  readonly method: string
  /** Yields the whole URL as text. */
  readonly url: string
  /** Header name to expression that yields its text. */
  readonly headers: Readonly<Record<string, string>>
  /** How the result of `body` is encoded. */
  readonly format: 'json' | 'xml' | 'form' | 'multipart' | 'file'
  readonly body: string | null
}

export type AuthConfig =
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      readonly clientId: string
      readonly clientSecret: SecretText
      readonly scope: string | null
      readonly audience: string | null
      /** Whether client id and secret are sent as a Basic header or in the body. */
      readonly send: 'basic' | 'body'
    }
  | {
      readonly type: 'password'
      readonly tokenUrl: string
      readonly username: string
      readonly password: SecretText
      readonly clientId: string | null
      readonly clientSecret: SecretText | null
      readonly scope: string | null
    }
  | { readonly type: 'basic'; readonly username: string; readonly password: SecretText }
  | { readonly type: 'bearer'; readonly token: SecretText }
  | { readonly type: 'header'; readonly name: string; readonly value: SecretText }

/** One templated request for REST and SOAP systems. */
export interface HttpDestination extends DestinationBase {
  readonly kind: 'http'
  /** Values that templates see as `settings`; never a secret. */
  readonly settings: Readonly<Record<string, string>>
  readonly auth: AuthConfig | null
  readonly request: RequestTemplate
  /** Used instead of `request` when the record's remote id is known. */
  readonly update: RequestTemplate | null
  /** Sent after `request` when a document goes along; it sees the answer of `request` as `body`. */
  readonly upload: RequestTemplate | null
  /** Whether changes that store a document send the document. */
  readonly documents: boolean
  /** Looks for an earlier delivery of the message: `found` yields its remote id as text, or null. */
  readonly lookup: (RequestTemplate & { readonly found: string }) | null
  /** A harmless request for `doctor` and `destination test`. */
  readonly probe: RequestTemplate | null
  /** Over `{status, headers, body}`, yields a boolean; null: every 2xx is a success. */
  readonly success: string | null
  /** As `success`; true: the target already has the record, which counts as delivered. */
  readonly duplicate: string | null
  /** As `success`; yields the remote id as text, or null. */
  readonly remoteId: string | null
  /** HTTP statuses that mean a withdrawn credential; they park the destination. */
  readonly parkOn: readonly number[]
}

/** An AMS that needs several steps; `adapter` is the name of a file in `src/push/adapters/`. */
export interface AdapterDestination extends DestinationBase {
  readonly kind: 'adapter'
  readonly adapter: string
  readonly url: string
  readonly settings: Readonly<Record<string, string>>
  readonly credentials: Readonly<Record<string, SecretText>>
}

/** File drops. */
export interface FileDestination extends DestinationBase {
  readonly kind: 'file'
  readonly format: 'ndjson' | 'csv'
  /** One file for everything that waits, or one for each submission. */
  readonly per: 'batch' | 'submission'
  readonly target:
    | { readonly type: 'folder'; readonly path: string }
    | {
        readonly type: 'sftp'
        readonly host: string
        readonly port: number
        readonly username: string
        readonly password: SecretText | null
        readonly privateKey: SecretText | null
        /** The server's key: `SHA256:…` as ssh-keygen prints it. */
        readonly hostKey: string
        readonly path: string
      }
  /** Limit on the rows of one file. */
  readonly maxRows: number
  /** How long changes are gathered before a file is written. */
  readonly gatherMs: number
  /** Whether documents are copied beside the rows that say they were stored. */
  readonly documents: boolean
}

export type DestinationConfig = WebhookDestination | HttpDestination | AdapterDestination | FileDestination
