import type { DestinationConfig } from '../../config/config.ts'
import { readEpochs } from '../../store/changes/log-epoch.ts'
import type { Query } from '../../store/engine/db.ts'
import { changesToPreview } from '../../store/outbox/resend.ts'
import { type OutboxRow, rowsAsSent } from '../../store/outbox/rows.ts'
import type { PushItem } from '../contract/delivery.ts'
import { rowsFor } from '../queue/queued-rows.ts'
import { itemMaker } from './item.ts'
import { notSentReason } from './not-sent-reason.ts'

/** Newest changes of a submission among which those for the destination are looked for. */
const LOOKED = 500

/** A change as it would go to a destination now. */
export interface PreviewedChange {
  readonly item: PushItem
  /** Why it would not be sent; null when it would. */
  readonly notSent: string | null
}

/**
 * What a destination would be sent of one change, or of the newest changes of a submission, whether or not it was. Nothing is queued.
 * @param which the number of the change, or the submission.
 * @param limit changes at most.
 */
export async function previewChanges(
  q: Query,
  destination: DestinationConfig,
  which: { readonly seq?: number | undefined; readonly submissionId?: string | undefined },
  limit: number,
): Promise<PreviewedChange[]> {
  const looked = await changesToPreview(q, destination.accounts, which, LOOKED)
  const epochs = await readEpochs(q)
  const everything = { ...destination, entities: null, operations: null, eventTypes: null, maxAgeMs: null, backfill: true, logEpoch: '' }
  const wanted = await rowsFor(q, [{ ...destination, logEpoch: '' }], looked, epochs, true)
  // A single change is shown even if the filters leave it out: why it never arrived may be just what is asked.
  const { rows } = which.seq === undefined ? wanted : await rowsFor(q, [everything], looked, epochs, true)
  const passing = new Set(wanted.rows.map(({ seq }) => seq))
  const emptied = new Set(looked.filter(({ isEmptied }) => isEmptied).map(({ seq }) => seq))
  const itemOf = itemMaker(destination)
  const reasonOf = (row: OutboxRow, item: PushItem) => {
    if (emptied.has(row.seq)) return 'not sent: a purge has emptied it'
    return passing.has(row.seq) ? notSentReason(destination, item, false) : 'not sent: the filters of the destination leave it out'
  }
  return (await rowsAsSent(q, rows.slice(-limit), destination.name)).map((row) => {
    const item = itemOf(row)
    return { item, notSent: reasonOf(row, item) }
  })
}
