import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** The result of earlier attempts to push a row, from which the next one continues. */
export type PushProgress = RecordTaken | FilesWritten

/** The target has a document's record, but not its bytes. */
export interface RecordTaken {
  readonly step: 'record_taken'
  /** The request that `body` answers. */
  readonly answered: 'request' | 'lookup'
  /** Origin of the URL that answered, the only one that gets the credentials. */
  readonly origin: string
  readonly body: string
  /** False if `body` is truncated. */
  readonly isWhole: boolean
  readonly detail: string | null
}

/** The target has all files of a delivery; some may not have their final names yet. */
export interface FilesWritten {
  readonly step: 'files_written'
  readonly place: string
  /** The delivery in the names of its temporary files. */
  readonly delivery: string
  readonly manifest: string
  readonly file: string
}

/** @returns the deliveries of a destination with unfinished rows, in any state. */
export async function unfinishedDeliveries(q: Query, destination: string): Promise<ReadonlySet<string>> {
  const rows = await q.all(sql<{ progress: string }>`
    select distinct progress from sync_outbox where destination = ${destination} and progress is not null`)
  const all = rows.map(({ progress }) => JSON.parse(progress) as PushProgress)
  return new Set(all.flatMap((progress) => (progress.step === 'files_written' ? [progress.delivery] : [])))
}
