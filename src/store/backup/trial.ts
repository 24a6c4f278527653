import { mkdtemp, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PermanentError } from '../../base/errors.ts'
import { inProcess, roomFor } from './backup.ts'

/** Input of the process: the backup, and a folder to restore it into. */
export interface TrialOrder {
  readonly file: string
  readonly folder: string
}

/** `problem` is null when the backup can be restored. */
export type TrialAnswer = { readonly problem: string | null }

/**
 * Restores a backup into a temporary folder in a child process. @throws PermanentError if this fails; the reason of `signal` if aborted.
 */
export async function tryRestore(file: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const problem = await roomFor(dirname(file), (await stat(file)).size)
  if (problem !== null) throw new PermanentError(`${file} could not be restored on trial: ${problem}`)
  const order: TrialOrder = { file, folder: await mkdtemp(`${file}.trial-`) }
  try {
    const script = import.meta.url.endsWith('.ts') ? './trial-process.ts' : './trial-process.js'
    await inProcess<TrialAnswer, void>(script, order, signal, ({ resolve, fail }, { problem }) =>
      problem === null ? resolve() : fail(problem),
    )
  } finally {
    // Asynchronous, because the folder may be large.
    await rm(order.folder, { recursive: true, force: true })
  }
}
