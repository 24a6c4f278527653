import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** What earlier attempts to push a row achieved. The next attempt continues from there. */
export type PushProgress = RecordTaken | FilesWritten

/** The target has the record of a document, but not its bytes. */
export interface RecordTaken {
  readonly step: 'record_taken'
  /** The request whose answer follows. */
  readonly answered: 'request' | 'lookup'
  /** Origin of the URL that answered: the only one that gets the credentials. */
  readonly origin: string
  readonly body: string
  /** False if `body` is only the beginning of the answer. */
  readonly isWhole: boolean
  /** A remark for the delivered row. */
  readonly detail: string | null
}

/** The target has all files of a delivery, complete, and some of them may not have their final names yet. */
export interface FilesWritten {
  readonly step: 'files_written'
  /** The folder or server. */
  readonly place: string
  /** Identifies the delivery in the names of its temporary files. */
  readonly delivery: string
  /** Final name of the manifest, which is renamed last. */
  readonly manifest: string
  /** Final name of the file with the row. */
  readonly file: string
}

/** @returns the deliveries of a destination that have rows whose push isn't finished, whatever their state. */
export async function unfinishedDeliveries(q: Query, destination: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ progress: string }>`
    select distinct progress from sync_outbox where destination = ${destination} and progress is not null`.execute(q.sql)
  const all = rows.map(({ progress }) => JSON.parse(progress) as PushProgress)
  return new Set(all.flatMap((progress) => (progress.step === 'files_written' ? [progress.delivery] : [])))
}
