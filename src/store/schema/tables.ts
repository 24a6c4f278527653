import type { Generated } from 'kysely'
import type { entities } from '../../model/entities.ts'
import type { RowOf } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { AlarmTables } from './tables-alarms.ts'
import type { CompletenessTables } from './tables-completeness.ts'
import type { CredentialUsesTables } from './tables-credential-uses.ts'
import type { DocumentTables } from './tables-documents.ts'
import type { ExtraReadsTables } from './tables-extra-reads.ts'
import type { FiguresTables } from './tables-figures.ts'
import type { HostileSendersTables } from './tables-hostile-senders.ts'
import type { InterfaceDriftTables } from './tables-interface-drift.ts'
import type { KnownIdsTables } from './tables-known-ids.ts'
import type { OperationsTables } from './tables-operations.ts'
import type { PushTables } from './tables-push.ts'
import type { ReconcileTables } from './tables-reconcile.ts'
import type { RetentionTables } from './tables-retention.ts'
import type { WebhookSecretsTables } from './tables-webhook-secrets.ts'

/** The tables of service data, as their descriptors define them. */
type MirrorTables = { [E in (typeof entities)[number] as E['table']]: RowOf<E> }

/** Every table and view, for kysely. migrations/README.md describes them. */
export interface Tables
  extends MirrorTables,
    AlarmTables,
    PushTables,
    ReconcileTables,
    CompletenessTables,
    OperationsTables,
    RetentionTables,
    WebhookSecretsTables,
    CredentialUsesTables,
    HostileSendersTables,
    KnownIdsTables,
    ExtraReadsTables,
    FiguresTables,
    InterfaceDriftTables,
    DocumentTables {
  changes: ChangesTable
  mirror_info: MirrorInfoTable
  freshness: FreshnessView
  sync_migrations: MigrationsTable
  sync_inbox: InboxTable
  sync_rejected: RejectedTable
  sync_reads: ReadsTable
  sync_accounts: AccountsTable
  sync_arrivals: ArrivalsTable
  sync_conflicts: ConflictsTable
  sync_unreadable: UnreadableTable
  sync_processes: ProcessesTable
  sync_counters: CountersTable
}

export interface ChangesTable {
  seq: number
  account: string
  submission_id: string | null
  entity: string
  entity_id: string
  operation: string
  changed_at: TimeText
  cause: string
  before: Json
  after: Json
}

export interface MirrorInfoTable {
  id: number
  schema_version: number
  log_epoch: string
  first_seq: number
  last_seq: number
}

export interface FreshnessView {
  account: string
  submission_id: string
  read: ReadKind
  last_read_at: TimeText | null
  last_changed_at: TimeText | null
  last_replay_at: TimeText | null
}

export interface MigrationsTable {
  version: number
  name: string
  /** Of its statements; see migrate.ts. */
  sha256: string
  oldest_compatible: number
  applied_at: TimeText
}

/** `ready`: due at `available_at`, which a lease moves on. `done`. `aside`: kept, but not readable. `dead`: given up. */
export type InboxState = 'ready' | 'done' | 'aside' | 'dead'

export interface InboxTable {
  inbox_id: Generated<number>
  account: string
  delivery_id: string
  received_at: TimeText
  /** As JSON text. */
  headers: string
  /** null when retention has removed it. */
  body: Buffer | null
  /** Position, from 1, of the account's webhook secret that verified it. */
  secret: number
  state: InboxState
  attempts: number
  available_at: TimeText
  lease_token: string | null
  submission_id: string | null
  kind: string | null
  error: string | null
  settled_at: TimeText | null
}

export interface RejectedTable {
  rejected_id: Generated<number>
  account: string | null
  path: string
  received_at: TimeText
  address: string
  reason: string
  headers: string
  body: Buffer | null
  replayed_at: TimeText | null
}

export interface ReadsTable {
  account: string
  submission_id: string
  read: ReadKind
  /** 0: woken, 1: scheduled, 2: failing, 3: detail reads in the background. Live work goes before routine work; failing reads never displace working ones. */
  rank: number
  due_at: TimeText
  lease_token: string | null
  wake_no: number
  cursor: string | null
  cursor_no: number
  issued_no: number
  applied_no: number
  /** When something last moved here, for the polling interval. */
  active_at: TimeText | null
  /** The last cursor that the service refused, kept for diagnosis. */
  refused_cursor: string | null
  failures: number
  misses: number
  stalls: number
  error: string | null
  last_read_at: TimeText | null
  last_changed_at: TimeText | null
  last_replay_at: TimeText | null
  replay_due_at: TimeText | null
  /** Of what the read with the number `hash_no` showed; null when something of the submission has changed since. */
  content_hash: string | null
  hash_no: number | null
}

export interface AccountsTable {
  account: string
  state: 'active' | 'paused' | 'parked'
  reason: string | null
  since: TimeText | null
  retry_at: TimeText | null
  brokerage: string | null
  client_id: string | null
  sweep_wanted: number
  swept_at: TimeText | null
  events_unreadable_at: TimeText | null
  /** Why the service does not say whose the credentials are, and since when; null as long as it does, or did not answer at all. */
  identity_error: string | null
  identity_failing_since: TimeText | null
  /** The newest pause that the service asked for (`Retry-After`), which may be over. */
  throttled_since: TimeText | null
  throttled_until: TimeText | null
  throttled_reason: string | null
}

export interface ArrivalsTable {
  account: string
  entity: string
  submission_id: string
  record_id: string
  way: string
  first_at: TimeText
}

export interface ConflictsTable {
  account: string
  entity: string
  submission_id: string
  record_id: string
  evidence_key: string
  fields: string
  kept: string
  refused: string
  via: string
  seen_at: TimeText
}

export interface UnreadableTable {
  account: string
  submission_id: string
  read: ReadKind
  evidence_key: string
  raw: string
  seen_at: TimeText
}

export interface ProcessesTable {
  process_id: string
  role: string
  version: string
  started_at: TimeText
  seen_at: TimeText
}

export interface CountersTable {
  account: string
  name: string
  label: string
  value: number
}
