import type { DestinationConfig } from '../../config/config.ts'
import type { Row } from '../../model/entity.ts'
import { timeFromMs } from '../../model/time.ts'
import type { EpochOfChange } from '../../store/changes/log-epoch.ts'
import type { Query } from '../../store/engine/db.ts'
import { type RecordTime, recordText, recordTimes } from '../../store/mirror/record-times.ts'
import type { FanOutChange, NewOutboxRow } from '../../store/outbox/fan-out.ts'
import type { PresentRow } from '../../store/outbox/present-rows.ts'
import type { SnapshotRow } from '../../store/outbox/snapshot-rows.ts'
import { IMMUTABLE, messageId } from '../contract/message-id.ts'
import { isOnlyTooOld, type Wants, wants } from './filter.ts'

export type FanOutDestination = Wants & Pick<DestinationConfig, 'name' | 'filter'>

/** A destination, with the stored epoch of its position in the change log. */
export type Recipient = FanOutDestination & {
  /** From `sync_destinations.log_epoch`. */
  readonly logEpoch: string
}

export interface QueuedRows {
  readonly rows: NewOutboxRow[]
  /**
   * By destination: `seq` of the first change that waits because of `max_age`. For this destination, `rows` has only
   * changes before this `seq`.
   */
  readonly held: ReadonlyMap<string, number>
}

/**
 * @returns the outbox rows of changes, in order.
 * @param epochOf returns the log epoch of a `seq`.
 * @param mayDrop whether changes older than `max_age` may be dropped. Dropping is final.
 */
export async function rowsFor(
  q: Query,
  destinations: readonly Recipient[],
  changes: readonly FanOutChange[],
  epochOf: (seq: number) => EpochOfChange,
  mayDrop: boolean,
): Promise<QueuedRows> {
  const newest = epochOf(Number.POSITIVE_INFINITY)
  const times = await timesOf(q, destinations, changes)
  const rows: NewOutboxRow[] = []
  const held = new Map<string, number>()
  for (const change of changes) {
    if (change.isEmptied === true) continue
    const time = times.get(recordText(change))
    const { account, entity, operation, cause } = change
    const filtered = {
      account,
      entity,
      operation,
      cause,
      snapshot: false,
      eventType: change.event_type ?? time?.type ?? null,
      occurredAt: change.occurred_at ?? time?.occurredAt ?? null,
    }
    const now = q.clock.now()
    const going = destinations.filter(({ name }) => !held.has(name))
    for (const each of mayDrop ? [] : going) if (isOnlyTooOld(each, filtered, now)) held.set(each.name, change.seq)
    const recipients = going.filter((destination) => wants(destination, filtered, now))
    if (recipients.length > 0) rows.push(...rowsOfChange(change, recipients, epochOf(change.seq), newest))
  }
  return { rows, held }
}

function rowsOfChange(change: FanOutChange, recipients: readonly Recipient[], epoch: EpochOfChange, newest: EpochOfChange): NewOutboxRow[] {
  const subject = { ...change, entityId: change.entity_id, snapshot: false }
  const id = messageId(subject, epoch.logEpoch)
  return recipients.map(({ name, logEpoch }) => ({
    destination: name,
    account: change.account,
    submissionId: change.submission_id,
    entity: change.entity,
    entityId: change.entity_id,
    operation: change.operation,
    cause: change.cause,
    seq: change.seq,
    messageId: id,
    snapshot: null,
    // If a change from before a restore isn't queued in this database yet, the lost database may have sent the change.
    uncertain: (epoch.logEpoch !== newest.logEpoch && logEpoch !== newest.logEpoch) || mayHaveBeenSent(change, epoch),
  }))
}

/**
 * @returns the outbox row that sends a record's current row.
 * @param given `seq` is the newest change that the row contains.
 */
export function presentRow(
  { after, ...row }: SnapshotRow,
  destination: string,
  given: Pick<NewOutboxRow, 'operation' | 'seq' | 'uncertain'> & { readonly logEpoch: string; readonly nowMs: number },
): NewOutboxRow {
  const { logEpoch, nowMs, ...more } = given
  const id = messageId({ ...row, ...more, snapshot: true }, logEpoch)
  return { ...row, ...more, destination, cause: 'snapshot', messageId: id, snapshot: { changed_at: timeFromMs(nowMs), after } }
}

/**
 * @returns the outbox row that sends a complete record when the record starts to pass a `filter`. The message id comes
 * from the record's key or the change's position in the log (see `messageId`). A repeated fan-out therefore gives the
 * same id.
 * @param row outbox row of the change.
 * @param given `isAgain`: whether the record passed before and then stopped passing. If true, the message id doesn't
 * come from the record's key, because the first message may have that id.
 */
export function wholeRow(
  row: NewOutboxRow,
  { after, asOf }: PresentRow,
  given: { readonly isAgain: boolean; readonly epoch: EpochOfChange; readonly nowMs: number },
): NewOutboxRow {
  const { isAgain, epoch, nowMs } = given
  const insert = { ...row, operation: 'insert' }
  const id = messageId({ ...insert, ...(isAgain && { operation: 'update' }), snapshot: true }, epoch.logEpoch)
  const uncertain = row.uncertain || mayHaveBeenSent({ ...insert, occurred_at: occurredAt(after) }, epoch)
  return { ...insert, cause: 'snapshot', seq: asOf, messageId: id, snapshot: { changed_at: timeFromMs(nowMs), after }, uncertain }
}

/** @returns when an event or message happened; null for other records. */
export function occurredAt(after: Row): string | null {
  const at = after['occurred_at']
  return typeof at === 'string' ? at : null
}

/**
 * After a restore, events and messages from before the restore are read and inserted again.
 * @returns whether the lost database may already have sent this insert.
 */
export function mayHaveBeenSent(
  { entity, operation, occurred_at }: Pick<FanOutChange, 'entity' | 'operation' | 'occurred_at'>,
  { restoredAt }: EpochOfChange,
): boolean {
  return IMMUTABLE.has(entity) && operation === 'insert' && restoredAt !== null && occurred_at !== null && occurred_at < restoredAt
}

/**
 * @returns when a record happened and its event type, for changes whose `occurred_at` is null. Empty if no destination
 * has `event_types` or `max_age`. Map key: the text that `recordText` returns.
 */
async function timesOf(
  q: Query,
  destinations: readonly FanOutDestination[],
  changes: readonly FanOutChange[],
): Promise<ReadonlyMap<string, RecordTime>> {
  const asked = destinations.some(({ eventTypes, maxAgeMs }) => eventTypes !== null || maxAgeMs !== null)
  return asked
    ? recordTimes(
        q,
        changes.filter((change) => change.occurred_at === null),
      )
    : new Map()
}
