import type { DestinationConfig } from '../../config/config.ts'
import { personalDataFilter } from '../../model/personal.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import type { PushItem } from '../contract/delivery.ts'
import { directionOf } from '../contract/direction.ts'

/** Makes the item that may go out to one destination from a row of the outbox. */
export type ItemMaker = (row: OutboxRow) => PushItem

/** @returns the maker for `destination`. It leaves out the personal columns that the destination did not opt in to. */
export function itemMaker(destination: Pick<DestinationConfig, 'name' | 'personalFields' | 'taxIdFields'>): ItemMaker {
  const { name, personalFields, taxIdFields } = destination
  const strip = personalDataFilter(personalFields, taxIdFields)
  return (row) => {
    const after = strip(row.entity, row.after)
    return {
      outboxId: row.outboxId,
      messageId: row.messageId,
      destination: name,
      account: row.account,
      submissionId: row.submissionId,
      entity: row.entity,
      entityId: row.entityId,
      operation: row.operation,
      cause: row.cause,
      seq: row.seq,
      snapshot: row.snapshot,
      changedAt: row.changedAt,
      before: strip(row.entity, row.before),
      after,
      // The text says the same as the parsed object: the program wrote it from columns, none of them twice.
      afterText: after === row.after ? row.afterText : null,
      ...directionOf(row.direction),
      submission: strip('submissions', row.submission),
      mapping: row.mapping,
      leftFilter: row.leftFilter,
      // Under a new id it is another record to the target, which may have lost the first.
      remoteId: row.resent === 'new' && row.operation === 'insert' ? null : row.remoteId,
      attempts: row.attempts,
      progress: row.progress,
    }
  }
}
