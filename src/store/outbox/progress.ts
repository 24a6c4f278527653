import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** What earlier attempts to push a row achieved. The next attempt continues there. */
export type PushProgress = RecordTaken | FilesWritten

/** The target has stored the record of a document, but doesn't have its file yet. */
export interface RecordTaken {
  readonly step: 'record_taken'
  /** The request that `body` answers: the push itself or a lookup. */
  readonly answered: 'request' | 'lookup'
  /** Origin of the URL that answered. Credentials are sent only to this origin. */
  readonly origin: string
  readonly body: string
  /** False if `body` is truncated. */
  readonly isWhole: boolean
  readonly detail: string | null
}

/** All files of a delivery are written. Some may still have temporary names. */
export interface FilesWritten {
  readonly step: 'files_written'
  readonly place: string
  /** Delivery id. The names of the temporary files contain it. */
  readonly delivery: string
  readonly manifest: string
  readonly file: string
}

/** @returns the ids of deliveries whose files are written but that aren't finished, for rows in any state. */
export async function unfinishedDeliveries(q: Query, destination: string): Promise<ReadonlySet<string>> {
  const rows = await q.all(sql<{ progress: string }>`
    select distinct progress from sync_outbox where destination = ${destination} and progress is not null`)
  const all = rows.map(({ progress }) => JSON.parse(progress) as PushProgress)
  return new Set(all.flatMap((progress) => (progress.step === 'files_written' ? [progress.delivery] : [])))
}
