import { withTimeout } from '../../base/abortable.ts'
import { messageOf, PermanentError } from '../../base/errors.ts'
import type { FileDestination } from '../../config/config.ts'
import { unfinishedDeliveries } from '../../store/outbox/progress.ts'
import type { DeliveryKind, KindContext, Outcome, ProbeResult, PushItem } from '../contract/delivery.ts'
import { localFailure } from '../contract/outcomes.ts'
import { type BatchProgress, finishDelivery, writeBatch } from '../file/batch.ts'
import { dial } from '../file/dial.ts'
import { type Drop, type DropTarget, UnwritableError } from '../file/drop.ts'
import { folderTarget } from '../file/folder.ts'
import { deliveryOf, newDelivery, temporaryName } from '../file/names.ts'
import { type RowWriter, rowWriter } from '../file/rows.ts'
import { sftpTarget } from '../file/sftp.ts'

/**
 * A temporary file that is older than this many ms counts as abandoned. Also the shortest time between two searches for
 * such files.
 */
const STALE_MS = 3_600_000
/** Share of the destination's timeout for writing rows. The rest is for renaming files. */
const WRITING_SHARE = 0.6
const NOT_ATTEMPTED: Outcome = { type: 'not_attempted' }

/** Writes changes as files to a local folder or over SFTP. `config/systems/files.md` describes the files. */
export function createFile(destination: FileDestination, context: KindContext): DeliveryKind {
  return new FileKind(destination, context)
}

class FileKind implements DeliveryKind {
  readonly batch: DeliveryKind['batch']
  readonly withoutSubmission = true
  readonly #destination: FileDestination
  readonly #context: KindContext
  readonly #target: DropTarget
  readonly #writer: RowWriter
  /** Temporary files that a failed attempt couldn't remove. */
  readonly #left = new Set<string>()
  #cleanedAtMs: number | null = null

  constructor(destination: FileDestination, context: KindContext) {
    const { target, maxRows, gatherMs } = destination
    this.batch = { type: 'many', maxItems: maxRows, gatherMs }
    this.#destination = destination
    this.#context = context
    this.#target = target.type === 'folder' ? folderTarget(target.path) : sftpTarget(target, dial(destination))
    this.#writer = rowWriter(destination)
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const { clock } = this.#context
    const progress: BatchProgress = { renaming: null, left: this.#left }
    const names = new Map<number, string>()
    const lateAt = clock.steady() + this.#destination.timeoutMs * WRITING_SHARE
    const openDocument = this.#destination.documents ? (this.#context.openDocument ?? null) : null
    const common = { destination: this.#destination, place: this.#target.place, writer: this.#writer }
    const options = { ...common, openDocument, late: () => clock.steady() >= lateAt, progress }
    try {
      await this.#opened(signal, async (drop) => {
        await this.#clean(drop)
        await this.#finishEarlier(drop, items, names)
        const rest = items.filter(({ outboxId }) => !names.has(outboxId))
        if (rest.length > 0) for (const [id, name] of await writeBatch(drop, rest, options)) names.set(id, name)
      })
      return items.map(({ outboxId }) => written(names.get(outboxId)))
    } catch (error) {
      return items.map(({ outboxId }) => (names.has(outboxId) ? written(names.get(outboxId)) : failure(error, progress, outboxId)))
    }
  }

  /**
   * Finishes deliveries whose files an earlier attempt wrote. Runs before newer files are written.
   * @param names receives the file name of each finished row, by outbox id.
   */
  async #finishEarlier(drop: Drop, items: readonly PushItem[], names: Map<number, string>): Promise<void> {
    const { place } = this.#target
    const rows = items.flatMap(({ outboxId, progress }) =>
      // If the destination's folder changed, earlier files are ignored and their rows are written again.
      progress?.step === 'files_written' && progress.place === place ? [{ outboxId, ...progress }] : [],
    )
    for (const [, [first, ...others]] of Map.groupBy(rows, ({ delivery }) => delivery)) {
      if (first === undefined || !(await finishDelivery(drop, this.#destination.name, first))) continue
      for (const { outboxId, file } of [first, ...others]) names.set(outboxId, file)
    }
  }

  /** Writes, renames, and removes an empty temporary file, to check the permissions that a delivery needs. */
  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { place } = this.#target
    try {
      await this.#opened(signal, async (drop) => {
        const [delivery, { name }] = [newDelivery(), this.#destination]
        const [from, to] = [temporaryName(name, delivery), temporaryName(name, delivery, 0)]
        await drop.write(from, nothing())
        await drop.rename(from, to)
        await drop.sync()
        await drop.remove(to)
      })
      return { ok: true, text: `a file was written, renamed and removed in ${place}` }
    } catch (error) {
      return { ok: false, text: messageOf(error) }
    }
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  async #opened<T>(signal: AbortSignal, work: (drop: Drop) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#destination
    const late = new Error(`${this.#target.place} did not accept the file within ${timeoutMs} ms`)
    const withDrop = async (timeout: AbortSignal): Promise<T> => {
      const drop = await this.#target.open(timeout)
      try {
        return await work(drop)
      } finally {
        await drop.close()
      }
    }
    return await withTimeout(this.#context.clock, timeoutMs, signal, withDrop, late)
  }

  /** Removes temporary files of failed attempts and crashes. Failures are only logged. */
  async #clean(drop: Drop): Promise<void> {
    const { clock, log, db } = this.#context
    const { name } = this.#destination
    const now = clock.now()
    const isTime = this.#cleanedAtMs === null || now - this.#cleanedAtMs >= STALE_MS
    if (isTime) this.#cleanedAtMs = now
    try {
      for (const file of this.#left) await drop.remove(file).then(() => this.#left.delete(file))
      if (!isTime) return
      const unfinished = db === undefined ? new Set<string>() : await unfinishedDeliveries(db.read, name)
      const files = await drop.list((file) => {
        const delivery = deliveryOf(name, file)
        return delivery !== null && !unfinished.has(delivery)
      })
      for (const file of files) if (now - file.modifiedMs > STALE_MS) await drop.remove(file.name)
    } catch (error) {
      log.debug({ destination: name, err: error }, `temporary files of destination ${name} could not be removed: ${messageOf(error)}`)
    }
  }
}

/**
 * @returns the outcome of a row after an error. Until the renaming of row files begins, nothing counts as written.
 * After that, readers may have seen the row's file, so the outcome is unknown. A row without a file wasn't attempted.
 */
function failure(error: unknown, { renaming }: BatchProgress, outboxId: number): Outcome {
  if (renaming === null) return notWritten(error)
  const progress = renaming.get(outboxId)
  return progress === undefined ? NOT_ATTEMPTED : { type: 'unknown', error: messageOf(error), progress }
}

function written(name: string | undefined): Outcome {
  return name === undefined ? NOT_ATTEMPTED : { type: 'delivered', status: null, remoteId: null, detail: name }
}

/**
 * @returns the outcome if nothing was written. A folder or server never rejects single rows, so every failure affects
 * the whole destination.
 */
function notWritten(error: unknown): Outcome {
  const text = messageOf(error)
  if (error instanceof PermanentError) return { type: 'suspend', retry: 'slowly', status: null, error: text }
  if (error instanceof UnwritableError) return { type: 'suspend', retry: 'soon', status: null, error: text }
  return { ...localFailure(text, false), alive: false }
}

async function* nothing(): AsyncGenerator<Buffer> {
  yield Buffer.from('')
}
