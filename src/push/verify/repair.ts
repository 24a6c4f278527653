import type { Tx } from '../../store/engine/db.ts'
import { queueRows } from '../../store/outbox/fan-out.ts'
import { markRepaired, stillDelivered } from '../../store/outbox/verifications.ts'
import { purgedAmong } from '../../store/reads/purged.ts'

/**
 * Queues rows that the target lacks once more, under their ids, behind what waits. What is under way again meanwhile, given up or unknown is
 * left out, and so are records of which a newer change waits, and submissions that are being purged. The transaction has locked the fan-out.
 * @param looksFirst whether the sender looks for each before it sends it.
 * @returns the numbers of the rows that are queued once more.
 */
export async function queueRepairs(
  tx: Tx,
  destination: string,
  outboxIds: readonly number[],
  looksFirst: boolean,
): Promise<ReadonlySet<number>> {
  const found = await stillDelivered(tx, destination, outboxIds)
  const keys = new Map(
    found.flatMap(({ account, submissionId }) =>
      submissionId === null ? [] : [[`${account} ${submissionId}`, { account, submission_id: submissionId }] as const],
    ),
  )
  const purged = await purgedAmong(tx, [...keys.values()])
  const rows = found.filter(({ account, submissionId }) => !purged.has(`${account} ${submissionId}`))
  await markRepaired(tx, destination, rows)
  await queueRows(
    tx,
    rows.map(({ outboxId: _, ...row }) => ({ ...row, uncertain: looksFirst })),
    [],
  )
  return new Set(rows.map(({ outboxId }) => outboxId))
}
