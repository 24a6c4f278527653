import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** The last step that earlier attempts to push a row completed. The next attempt starts after this step. */
export type PushProgress = RecordTaken | FilesWritten

/** The target has accepted the record of a document, but doesn't have the document's file yet. */
export interface RecordTaken {
  readonly step: 'record_taken'
  /** The request that the target answered with `body`: the push itself or a lookup. */
  readonly answered: 'request' | 'lookup'
  /** Origin of the URL that answered. The file is sent with credentials only to this origin. */
  readonly origin: string
  readonly body: string
  /** False if `body` is truncated. */
  readonly isWhole: boolean
  readonly detail: string | null
}

/** The row's files are written, but some may still have temporary names. */
export interface FilesWritten {
  readonly step: 'files_written'
  readonly place: string
  /** Delivery id. The names of the temporary files contain it. */
  readonly delivery: string
  readonly manifest: string
  readonly file: string
}

/**
 * @returns the delivery ids of all rows whose progress is `files_written`. The files of these deliveries may have
 * temporary names.
 */
export async function unfinishedDeliveries(q: Query, destination: string): Promise<ReadonlySet<string>> {
  const rows = await q.all(sql<{ progress: string }>`
    select distinct progress from sync_outbox where destination = ${destination} and progress is not null`)
  const all = rows.map(({ progress }) => JSON.parse(progress) as PushProgress)
  return new Set(all.flatMap((progress) => (progress.step === 'files_written' ? [progress.delivery] : [])))
}
