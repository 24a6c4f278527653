import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CACHE = 'NODE_COMPILE_CACHE'
const RUN = 'SUBMISSION_MIRROR_TEST_RUN'

/**
 * Shares compiled code among all processes of the tests, since loading it is most of a start. Call it in the main process, before its
 * workers start.
 */
export function shareCompiled(): void {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-compiled-'))
  process.env[RUN] = folder
  process.env[CACHE] = join(folder, 'cache')
  // Only then, since each worker writes its cache when it stops.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
}

/** A folder shared by all workers of a run; undefined outside of a run. */
export function sharedFolder(): string | undefined {
  return process.env[RUN]
}

/** Environment of a child process, in addition to the path. */
export function compiledEnv(): Readonly<Record<string, string>> {
  const folder = process.env[CACHE]
  return folder === undefined ? {} : { [CACHE]: folder }
}
