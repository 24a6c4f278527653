import { withTimeout } from '../../base/abortable.ts'
import { messageOf, PermanentError } from '../../base/errors.ts'
import type { FileDestination } from '../../config/config.ts'
import type { DeliveryKind, KindContext, Outcome, ProbeResult, PushItem } from '../contract/delivery.ts'
import { type BatchProgress, writeBatch } from '../file/batch.ts'
import { dial } from '../file/dial.ts'
import { type Drop, type DropTarget, UnwritableError } from '../file/drop.ts'
import { folderTarget } from '../file/folder.ts'
import { isTemporary, temporaryName } from '../file/names.ts'
import { type RowWriter, rowWriter } from '../file/rows.ts'
import { sftpTarget } from '../file/sftp.ts'

/** Age from which a temporary file is removed: its writer has given up or died. */
const STALE_MS = 3_600_000
/** Part of the timeout in which writing of rows may begin. The rest is for finishing. */
const WRITING_SHARE = 0.6
/** There was no time left for the row. */
const NOT_ATTEMPTED: Outcome = { type: 'not_attempted' }

/** Writes changes as files into a local folder or over SFTP. `config/destinations.md` describes the names and content of the files. */
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
    const progress: BatchProgress = { renaming: null }
    const lateAt = clock.steady() + this.#destination.timeoutMs * WRITING_SHARE
    const openDocument = this.#destination.documents ? (this.#context.openDocument ?? null) : null
    const options = { destination: this.#destination, openDocument, writer: this.#writer, late: () => clock.steady() >= lateAt, progress }
    try {
      const names = await this.#opened(signal, async (drop) => {
        await this.#clean(drop)
        return writeBatch(drop, items, options)
      })
      return items.map((item) => written(names.get(item.outboxId)))
    } catch (error) {
      const { renaming } = progress
      const outcome = renaming === null ? notWritten(error) : ({ type: 'unknown', error: messageOf(error) } as const)
      return items.map(({ outboxId }) => (renaming?.has(outboxId) === false ? NOT_ATTEMPTED : outcome))
    }
  }

  /** Does what a delivery does, with a temporary file. */
  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { place } = this.#target
    try {
      await this.#opened(signal, async (drop) => {
        const [from, to] = [temporaryName(this.#destination.name), temporaryName(this.#destination.name)]
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

  /** Opens the drop for `work`, within the destination's timeout. */
  async #opened<T>(signal: AbortSignal, work: (drop: Drop) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#destination
    const late = new Error(`${this.#target.place} did not take it within ${timeoutMs} ms`)
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

  /** Removes temporary files that a crash left. A failure is only logged. */
  async #clean(drop: Drop): Promise<void> {
    const { clock, log } = this.#context
    const { name } = this.#destination
    const now = clock.now()
    if (this.#cleanedAtMs !== null && now - this.#cleanedAtMs < STALE_MS) return
    this.#cleanedAtMs = now
    try {
      const files = await drop.list((file) => isTemporary(name, file))
      for (const file of files) if (now - file.modifiedMs > STALE_MS) await drop.remove(file.name)
    } catch (error) {
      log.debug({ destination: name, err: error }, `old temporary files of destination ${name} could not be removed: ${messageOf(error)}`)
    }
  }
}

function written(name: string | undefined): Outcome {
  return name === undefined ? NOT_ATTEMPTED : { type: 'delivered', status: null, remoteId: null, detail: name }
}

/** A folder or server never refuses a single row: a failure is one of the whole target. */
function notWritten(error: unknown): Outcome {
  const text = messageOf(error)
  if (error instanceof PermanentError) return { type: 'suspend', retry: 'slowly', status: null, error: text }
  if (error instanceof UnwritableError) return { type: 'suspend', retry: 'soon', status: null, error: text }
  return { type: 'failed', permanent: false, alive: false, status: null, error: text, retryAfterMs: null }
}

async function* nothing(): AsyncGenerator<Buffer> {
  yield Buffer.from('')
}
