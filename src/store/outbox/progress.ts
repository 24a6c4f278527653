import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** Result of earlier attempts to push a row, from which the next attempt continues. */
export type PushProgress = RecordTaken | FilesWritten

/** The target has a document's record, but not the file. */
export interface RecordTaken {
  readonly step: 'record_taken'
  /** Which request `body` answers. */
  readonly answered: 'request' | 'lookup'
  /** Origin of the URL that answered. Only this origin gets credentials. */
  readonly origin: string
  readonly body: string
  /** False if `body` is truncated. */
  readonly isWhole: boolean
  readonly detail: string | null
}

/** The target has all files of a delivery, but some may still have temporary names. */
export interface FilesWritten {
  readonly step: 'files_written'
  readonly place: string
  /** Delivery id in the names of the temporary files. */
  readonly delivery: string
  readonly manifest: string
  readonly file: string
}

/** @returns deliveries of a destination's unfinished rows, in any state. */
export async function unfinishedDeliveries(q: Query, destination: string): Promise<ReadonlySet<string>> {
  const rows = await q.all(sql<{ progress: string }>`
    select distinct progress from sync_outbox where destination = ${destination} and progress is not null`)
  const all = rows.map(({ progress }) => JSON.parse(progress) as PushProgress)
  return new Set(all.flatMap((progress) => (progress.step === 'files_written' ? [progress.delivery] : [])))
}
