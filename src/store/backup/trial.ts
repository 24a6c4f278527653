import { mkdtemp, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PermanentError } from '../../base/errors.ts'
import { inProcess, roomFor } from './backup.ts'

/** Input of the trial process: a backup, and a folder to restore the backup into. */
export interface TrialOrder {
  readonly file: string
  readonly folder: string
}

/** Output of the trial process. `problem` is null if the backup was restored. */
export type TrialAnswer = { readonly problem: string | null }

/**
 * Checks a backup by restoring it into a temporary folder, in a child process.
 * @throws PermanentError if the restore fails or the disk has too little space; the reason of `signal` if aborted.
 */
export async function tryRestore(file: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const problem = await roomFor(dirname(file), (await stat(file)).size)
  if (problem !== null) throw new PermanentError(`${file} could not be restored on trial: ${problem}`)
  const order: TrialOrder = { file, folder: await mkdtemp(`${file}.trial-`) }
  const script = import.meta.url.endsWith('.ts') ? './trial-process.ts' : './trial-process.js'
  const removeFolder = () => rm(order.folder, { recursive: true, force: true })
  await inProcess<TrialAnswer, void>(script, order, signal, removeFolder, ({ resolve, fail }, { problem }) =>
    problem === null ? resolve() : fail(problem),
  )
}
