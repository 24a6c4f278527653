import { createHash } from 'node:crypto'
import PQueue from 'p-queue'
import type { FileDestination } from '../../config/config.ts'
import type { PushItem } from '../contract/delivery.ts'
import type { Drop } from './drop.ts'
import { type FileFacts, fileName, manifestName, manifestText, temporaryName } from './names.ts'
import type { RowWriter } from './rows.ts'

/** Rows that are made into text at a time: while they are written, the event loop is others'. */
const SLICE = 100
/** Files that are written at a time: a far server answers each step only after a while. */
const FILES_AT_A_TIME = 8

/** What is said about a delivery while it goes on. */
export interface BatchProgress {
  /**
   * The rows, by outbox id, of files that are given their names: from then on, a failure leaves it open what readers see of them. Null
   * before that, when readers see nothing.
   */
  placing: ReadonlySet<number> | null
}

export interface BatchOptions {
  readonly destination: Pick<FileDestination, 'name' | 'per'>
  readonly writer: RowWriter
  /** No row is begun any more as soon as this says so; what is there by then is delivered. */
  readonly late: () => boolean
  readonly progress: BatchProgress
}

/** Rows that go into one file, in the order of the outbox, so that the same rows are the same file. */
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
 * Writes rows into files and a manifest that lists these. All files are whole and durable before the first gets its name, and have
 * their names before the manifest has: whoever waits for the manifest finds all, whoever waits for files finds no half one.
 * @returns the file that each item is in, by its outbox id; items that there was no time for are not there.
 */
export async function writeBatch(drop: Drop, items: readonly PushItem[], options: BatchOptions): Promise<ReadonlyMap<number, string>> {
  const temporaries: string[] = []
  const temporary = (): string => {
    const name = temporaryName(options.destination.name)
    temporaries.push(name)
    return name
  }
  try {
    const groups = groupsOf(items, options.destination)
    // The first is written in any case, so that each try gets on.
    const write = (group: Group, index: number) => (index > 0 && options.late() ? null : writeGroup(drop, group, temporary(), options))
    const written = (await eachOf(groups, write)).filter((file) => file !== null)
    const facts = written.map((file) => file.facts)
    const manifest = temporary()
    await drop.write(manifest, textChunks(manifestText(options.destination.name, facts)))
    options.progress.placing = new Set(written.flatMap((file) => file.items.map((item) => item.outboxId)))
    await eachOf(written, (file) => drop.rename(file.temporary, file.facts.name))
    await drop.sync()
    await drop.rename(manifest, manifestName(options.destination.name, facts))
    await drop.sync()
    return new Map(written.flatMap((file) => file.items.map((item) => [item.outboxId, file.facts.name])))
  } catch (error) {
    await Promise.allSettled(temporaries.map((name) => drop.remove(name)))
    throw error
  }
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

/** Some at a time; when one fails, no other is begun, and those under way are waited for. @returns the results in order. */
async function eachOf<T, R>(values: readonly T[], work: (value: T, index: number) => R | Promise<R>): Promise<R[]> {
  const queue = new PQueue({ concurrency: FILES_AT_A_TIME })
  const over = new AbortController()
  const begin = async (value: T, index: number): Promise<R> => {
    over.signal.throwIfAborted()
    try {
      return await work(value, index)
    } catch (error) {
      over.abort(error)
      throw error
    }
  }
  const results = await Promise.allSettled(values.map((value, index) => queue.add(() => begin(value, index))))
  over.signal.throwIfAborted()
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

async function* textChunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
