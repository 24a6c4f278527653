import type { EpochOfChange } from '../../store/changes/log-epoch.ts'
import type { Tx } from '../../store/engine/db.ts'
import { type RecordTime, recordText, recordTimes } from '../../store/mirror/record-times.ts'
import type { FanOutChange, NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { IMMUTABLE, messageId } from '../contract/message-id.ts'
import { type Wants, wants } from './filter.ts'

/** What fanning out knows of a destination. */
export type FanOutDestination = Wants & { readonly name: string }

/** A destination that gets changes now. */
export type Getter = FanOutDestination & {
  /** `sync_destinations.log_epoch`. */
  readonly logEpoch: string
}

/**
 * The rows that changes make in the outbox, in the order of the changes.
 * @param epochOf which numbering a change's number belongs to.
 */
export async function rowsFor(
  tx: Tx,
  destinations: readonly Getter[],
  changes: readonly FanOutChange[],
  epochOf: (seq: number) => EpochOfChange,
): Promise<NewOutboxRow[]> {
  const newest = epochOf(Number.POSITIVE_INFINITY)
  const times = await timesOf(tx, destinations, changes)
  const rows: NewOutboxRow[] = []
  for (const change of changes) {
    const time = times.get(recordText(change))
    const { account, entity, operation, cause } = change
    const considered = {
      ...{ account, entity, operation, cause, snapshot: false },
      eventType: change.event_type ?? time?.type ?? null,
      occurredAt: change.occurred_at ?? time?.occurredAt ?? null,
    }
    const getters = destinations.filter((destination) => wants(destination, considered, tx.clock.now()))
    if (getters.length > 0) rows.push(...rowsOfChange(change, getters, epochOf(change.seq), newest))
  }
  return rows
}

function rowsOfChange(change: FanOutChange, getters: readonly Getter[], epoch: EpochOfChange, newest: EpochOfChange): NewOutboxRow[] {
  const subject = { ...change, entityId: change.entity_id, snapshot: false }
  const id = messageId(subject, epoch.logEpoch)
  return getters.map(({ name, logEpoch }) => ({
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
    // The backup was made before this was queued, and the database that was lost went on.
    uncertain: (epoch.logEpoch !== newest.logEpoch && logEpoch !== newest.logEpoch) || mayHaveBeenSent(change, epoch),
  }))
}

/** What happened before a backup was restored, and is learned again, may have been sent by the database that was lost. */
export function mayHaveBeenSent(
  { entity, operation, occurred_at }: Pick<FanOutChange, 'entity' | 'operation' | 'occurred_at'>,
  { restoredAt }: EpochOfChange,
): boolean {
  return IMMUTABLE.has(entity) && operation === 'insert' && restoredAt !== null && occurred_at !== null && occurred_at < restoredAt
}

/** Changes that do not name what a filter asks for: their records are looked up, if any destination asks. */
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
