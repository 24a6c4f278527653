import { createHash } from 'node:crypto'
import PQueue from 'p-queue'
import type { FileDestination } from '../../config/config.ts'
import type { FilesWritten } from '../../store/outbox/progress.ts'
import type { PushItem } from '../contract/delivery.ts'
import type { OpenDocument } from '../contract/documents.ts'
import { type CopiedDocuments, copyDocuments } from './copied-documents.ts'
import type { Drop } from './drop.ts'
import { type DocumentFacts, type FileFacts, fileName, manifestName, manifestText, newDelivery, temporaryName } from './names.ts'
import type { RowWriter } from './rows.ts'

/** Rows that are encoded at a time, so that the event loop is not blocked for long. */
const SLICE = 100

/** Progress of a delivery. */
export interface BatchProgress {
  /**
   * What the next attempt needs to finish the delivery, by the outbox ids of its rows, once files are being renamed: from then on, a failure
   * leaves open which files readers see. Null before that: readers see nothing yet.
   */
  renaming: ReadonlyMap<number, FilesWritten> | null
  /** Temporary files of a failed attempt that couldn't be removed, for instance because the connection was closed. */
  readonly left: Set<string>
}

export interface BatchOptions {
  readonly destination: Pick<FileDestination, 'name' | 'per'>
  /** Where the files are written. */
  readonly place: string
  readonly writer: RowWriter
  /** Whether it is too late to begin another row. What is written by then is delivered. */
  readonly late: () => boolean
  readonly progress: BatchProgress
  /** Opens documents, which are then copied beside the rows; null: none are. */
  readonly openDocument: OpenDocument | null
}

/** Rows of one file, in the order of the outbox, so that the same rows make the same file. */
interface Group {
  readonly parts: readonly string[]
  readonly account: string | null
  readonly submissionId: string | null
  readonly items: readonly PushItem[]
}

interface Written {
  readonly temporary: string
  readonly facts: FileFacts
  readonly items: readonly PushItem[]
}

/**
 * Writes rows into files, the documents that they tell of beside them, and a manifest that lists all. All files are complete and durable
 * before the first is renamed to its final name. Documents get their names first, then the rows, then the manifest: a reader that waits for
 * the manifest, or for the rows, finds every file, and no reader finds an incomplete one. After a failure while files are renamed, their
 * temporary files stay, for `finishDelivery`; otherwise they are removed.
 * @returns the name of the file of each item, by outbox id. Items for which there was no time are missing.
 */
export async function writeBatch(drop: Drop, items: readonly PushItem[], options: BatchOptions): Promise<ReadonlyMap<number, string>> {
  const { destination, progress } = options
  const [delivery, temporaries] = [newDelivery(), [] as string[]]
  const temporary = (part?: number | string): string => {
    const name = temporaryName(destination.name, delivery, part)
    temporaries.push(name)
    return name
  }
  try {
    const documents = await documentsOf(drop, items, temporary, options)
    const groups = groupsOf(documents?.items ?? items, destination)
    // The first file is always written, so that every attempt makes progress.
    const write = (group: Group, index: number) => (index > 0 && options.late() ? null : writeGroup(drop, group, temporary(index), options))
    const written = (await eachOf(drop, groups, write)).filter((file) => file !== null)
    const facts = written.map((file) => file.facts)
    const [listed, manifest] = [temporary(), manifestName(destination.name, facts)]
    await drop.write(listed, textChunks(manifestText(destination.name, facts, documentsIn(documents, written))))
    if (documents !== null) await namedDocuments(drop, documents)
    const rows = written.flatMap((file) => file.items.map(({ outboxId }) => [outboxId, file.facts.name] as const))
    progress.renaming = new Map(rows.map(([id, file]) => [id, { step: 'files_written', place: options.place, delivery, manifest, file }]))
    await eachOf(drop, written, (file) => drop.rename(file.temporary, file.facts.name))
    await drop.sync()
    await drop.rename(listed, manifest)
    await drop.sync()
    return new Map(rows)
  } catch (error) {
    if (progress.renaming === null) await Promise.all(temporaries.map((name) => drop.remove(name).catch(() => progress.left.add(name))))
    throw error
  }
}

function documentsOf(
  drop: Drop,
  items: readonly PushItem[],
  temporary: (part: string) => string,
  { destination: { name: destination }, openDocument: open, late }: BatchOptions,
): Promise<CopiedDocuments | null> {
  const sorted = [...items].sort((a, b) => a.outboxId - b.outboxId)
  return open === null ? Promise.resolve(null) : copyDocuments(drop, sorted, { destination, open, temporary, late })
}

/** Gives documents their final names, durably. Readers look for none of them before they have read of it. */
async function namedDocuments(drop: Drop, { renames }: CopiedDocuments): Promise<void> {
  if (renames.size === 0) return
  await eachOf(drop, [...renames], ([from, to]) => drop.rename(from, to))
  await drop.sync()
}

/** The documents of the rows that were written. */
function documentsIn(documents: CopiedDocuments | null, written: readonly Written[]): readonly DocumentFacts[] | null {
  if (documents === null) return null
  const ids = new Set(written.flatMap(({ items }) => items.map(({ outboxId }) => outboxId)))
  return documents.facts.filter(({ outboxId }) => ids.has(outboxId))
}

async function writeGroup(drop: Drop, group: Group, temporary: string, { writer, late }: BatchOptions): Promise<Written> {
  const hash = createHash('sha256')
  const items: PushItem[] = []
  let bytes = 0
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < group.items.length && (at === 0 || !late()); at += SLICE) {
      const slice = group.items.slice(at, at + SLICE)
      const chunk = Buffer.from(`${at === 0 ? writer.head : ''}${writer.rows(slice)}`)
      hash.update(chunk)
      bytes += chunk.length
      items.push(...slice)
      yield chunk
    }
  }
  await drop.write(temporary, chunks())
  const sha256 = hash.digest('hex')
  const seqs = items.map((item) => item.seq)
  const range = { firstSeq: Math.min(...seqs), lastSeq: Math.max(...seqs) }
  const name = fileName(group.parts, range, sha256, writer.extension)
  const { account, submissionId } = group
  return { temporary, items, facts: { name, rows: items.length, bytes, sha256, ...range, account, submissionId } }
}

function groupsOf(items: readonly PushItem[], { name, per }: BatchOptions['destination']): readonly Group[] {
  const sorted = [...items].sort((a, b) => a.outboxId - b.outboxId)
  if (per === 'batch') return [{ parts: [name], account: null, submissionId: null, items: sorted }]
  const byLane = Map.groupBy(sorted, (item) => JSON.stringify([item.account, item.submissionId ?? item.entity]))
  return [...byLane.values()].flatMap((lane) => {
    const [{ account, submissionId, entity } = { account: '', submissionId: null, entity: '' }] = lane
    return [{ parts: [name, account, submissionId ?? entity], account, submissionId, items: lane }]
  })
}

/** Works on some values side by side. After a failure no other is begun, and those in flight are awaited. @returns the results in order. */
export async function eachOf<T, R>(
  { atOnce }: Pick<Drop, 'atOnce'>,
  values: readonly T[],
  work: (value: T, index: number) => R | Promise<R>,
): Promise<R[]> {
  const queue = new PQueue({ concurrency: atOnce })
  const failed = new AbortController()
  const begin = async (value: T, index: number): Promise<R> => {
    failed.signal.throwIfAborted()
    try {
      return await work(value, index)
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  const results = await Promise.allSettled(values.map((value, index) => queue.add(() => begin(value, index))))
  failed.signal.throwIfAborted()
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

async function* textChunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
