import { createHash } from 'node:crypto'
import PQueue from 'p-queue'
import type { FileDestination } from '../../config/config.ts'
import type { FilesWritten } from '../../store/outbox/progress.ts'
import type { PushItem } from '../contract/delivery.ts'
import type { OpenDocument } from '../contract/documents.ts'
import { type CopiedDocuments, copyDocuments } from './copied-documents.ts'
import type { Drop } from './drop.ts'
import {
  type DocumentFacts,
  deliveryOf,
  type FileFacts,
  fileName,
  manifestName,
  manifestText,
  namesListed,
  newDelivery,
  temporaryName,
} from './names.ts'
import type { RowWriter } from './rows.ts'

/** Number of rows that are encoded together. Encoding more rows would block the event loop. */
const SLICE = 100

export interface BatchProgress {
  /**
   * By outbox id: what the next attempt needs to finish the delivery. Null until the renaming of row files begins.
   * After that, readers may see row files.
   */
  renaming: ReadonlyMap<number, FilesWritten> | null
  /** Temporary files that a failed attempt couldn't remove. */
  readonly left: Set<string>
}

export interface BatchOptions {
  readonly destination: Pick<FileDestination, 'name' | 'per'>
  readonly place: string
  readonly writer: RowWriter
  /**
   * Whether the time for writing is over. No more rows are then written, but rows already written are still delivered.
   */
  readonly late: () => boolean
  readonly progress: BatchProgress
  /** Opens documents, which are copied into the same folder as the rows. Null if documents aren't copied. */
  readonly openDocument: OpenDocument | null
}

/** Rows of one file, in outbox order. The same rows always make the same file. */
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
 * Writes rows into files, with their documents, and a manifest that lists all files. All files are complete and durable
 * before the first rename. Documents are renamed first, then row files, then the manifest. A reader that waits for a
 * row file or the manifest therefore finds complete files.
 * If a failure occurs before row files are renamed, the temporary files are removed. After a later failure, the
 * temporary files stay for `finishDelivery`.
 * @returns the file name of each item, by outbox id. Items for which no time was left are missing.
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
    // Writes the first file even if the time for writing is over. Otherwise, a slow folder would never make progress.
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

async function namedDocuments(drop: Drop, { renames }: CopiedDocuments): Promise<void> {
  if (renames.size === 0) return
  await eachOf(drop, [...renames], ([from, to]) => drop.rename(from, to))
  await drop.sync()
}

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
  const byStream = Map.groupBy(sorted, (item) => JSON.stringify([item.account, item.submissionId ?? item.entity]))
  return [...byStream.values()].flatMap((stream) => {
    const [{ account, submissionId, entity } = { account: '', submissionId: null, entity: '' }] = stream
    return [{ parts: [name, account, submissionId ?? entity], account, submissionId, items: stream }]
  })
}

/**
 * Processes values, at most `atOnce` at the same time. After a failure, starts no more work, and waits
 * for work in flight.
 * @returns the results in order.
 * @throws the first failure.
 */
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

/**
 * Renames the remaining files of an earlier delivery to the names in its manifest. Several processes may do this at the
 * same time. A missing temporary file was already renamed.
 * @returns true if the delivery is complete. False if another program removed or changed the manifest. The temporary
 * files are then removed, and the rows must be written again.
 */
export async function finishDelivery(drop: Drop, destination: string, { delivery, manifest }: FilesWritten): Promise<boolean> {
  const left = async () => new Set((await drop.list((name) => deliveryOf(destination, name) === delivery)).map(({ name }) => name))
  const found = await left()
  // If no temporary file is left, the delivery is complete, because the manifest is always renamed last.
  if (found.size === 0) return true
  const renameLeft = async (from: string, to: string) => {
    if (!found.has(from)) return
    try {
      await drop.rename(from, to)
    } catch (error) {
      // If the file is gone, another process renamed it.
      if ((await left()).has(from)) throw error
    }
  }
  const listed = temporaryName(destination, delivery)
  const names = found.has(listed) ? namesListed(await drop.read(listed)) : null
  if (names === null) {
    await eachOf(drop, [...found], (name) => drop.remove(name))
    return false
  }
  await eachOf(drop, names, (name, index) => renameLeft(temporaryName(destination, delivery, index), name))
  await drop.sync()
  await renameLeft(listed, manifest)
  await drop.sync()
  return true
}
