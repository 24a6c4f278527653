import type { EpochOfChange } from '../../store/changes/log-epoch.ts'
import type { Tx } from '../../store/engine/db.ts'
import { type RecordTime, recordText, recordTimes } from '../../store/mirror/record-times.ts'
import type { FanOutChange, NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { IMMUTABLE, messageId } from '../contract/message-id.ts'
import { type Wants, wants } from './filter.ts'

/** What fan-out needs of a destination. */
export type FanOutDestination = Wants & { readonly name: string }

/** A destination whose changes are fanned out now. */
export type Recipient = FanOutDestination & {
  /** `sync_destinations.log_epoch`. */
  readonly logEpoch: string
}

/**
 * @returns the outbox rows of changes, in the order of the changes.
 * @param epochOf the epoch of the change log that a change's number belongs to.
 */
export async function rowsFor(
  tx: Tx,
  destinations: readonly Recipient[],
  changes: readonly FanOutChange[],
  epochOf: (seq: number) => EpochOfChange,
): Promise<NewOutboxRow[]> {
  const newest = epochOf(Number.POSITIVE_INFINITY)
  const times = await timesOf(tx, destinations, changes)
  const rows: NewOutboxRow[] = []
  for (const change of changes) {
    const time = times.get(recordText(change))
    const { account, entity, operation, cause } = change
    const filtered = {
      ...{ account, entity, operation, cause, snapshot: false },
      eventType: change.event_type ?? time?.type ?? null,
      occurredAt: change.occurred_at ?? time?.occurredAt ?? null,
    }
    const recipients = destinations.filter((destination) => wants(destination, filtered, tx.clock.now()))
    if (recipients.length > 0) rows.push(...rowsOfChange(change, recipients, epochOf(change.seq), newest))
  }
  return rows
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
    // Queued after the backup was made: the lost database may have sent it.
    uncertain: (epoch.logEpoch !== newest.logEpoch && logEpoch !== newest.logEpoch) || mayHaveBeenSent(change, epoch),
  }))
}

/** An event or message from before a restore, learned again after it, may have been sent by the lost database. */
export function mayHaveBeenSent(
  { entity, operation, occurred_at }: Pick<FanOutChange, 'entity' | 'operation' | 'occurred_at'>,
  { restoredAt }: EpochOfChange,
): boolean {
  return IMMUTABLE.has(entity) && operation === 'insert' && restoredAt !== null && occurred_at !== null && occurred_at < restoredAt
}

/** Types and times of records that their changes do not name, where a filter needs them. */
async function timesOf(
  tx: Tx,
  destinations: readonly FanOutDestination[],
  changes: readonly FanOutChange[],
): Promise<ReadonlyMap<string, RecordTime>> {
  const asked = destinations.some(({ eventTypes, maxAgeMs }) => eventTypes !== null || maxAgeMs !== null)
  return asked
    ? recordTimes(
        tx,
        changes.filter((change) => change.occurred_at === null),
      )
    : new Map()
}
