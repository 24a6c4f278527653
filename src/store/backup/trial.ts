import { mkdtemp, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { messageOf, PermanentError } from '../../base/errors.ts'
import { roomFor } from './backup.ts'

/** Input of the worker: the backup, and a folder to restore it into. */
export interface TrialOrder {
  readonly file: string
  readonly folder: string
}

/** null: it can be restored. */
export type TrialAnswer = { readonly problem: string | null }

/**
 * Restores a backup beside itself, as `restore` would, in a worker thread: the copy is verified, migrated and begins a new log epoch. Then it is
 * removed again, and the backup is as it was.
 * @throws PermanentError when it cannot be restored, or there is no room to try; the reason of `signal` when it aborts.
 */
export async function tryRestore(file: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const problem = await roomFor(dirname(file), (await stat(file)).size)
  if (problem !== null) throw new PermanentError(`${file} was not restored on trial: ${problem}`)
  const order: TrialOrder = { file, folder: await mkdtemp(`${file}.trial-`) }
  // Run from its source the program's files end in .ts, built ones in .js.
  const script = import.meta.url.endsWith('.ts') ? './trial-worker.ts' : './trial-worker.js'
  const worker = new Worker(new URL(script, import.meta.url), { workerData: order })
  try {
    await answerOf(worker, signal)
  } finally {
    await worker.terminate()
    // Not in the event loop: it may be large.
    await rm(order.folder, { recursive: true, force: true })
  }
}

function answerOf(worker: Worker, signal: AbortSignal): Promise<void> {
  const answer = Promise.withResolvers<void>()
  const fail = (problem: string) => answer.reject(new PermanentError(problem))
  const stop = () => answer.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  worker.on('message', ({ problem }: TrialAnswer) => (problem === null ? answer.resolve() : fail(problem)))
  worker.on('error', (error) => fail(messageOf(error)))
  worker.on('exit', () => fail('the thread that restored a backup on trial ended'))
  return answer.promise.finally(() => signal.removeEventListener('abort', stop))
}
