import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CACHE = 'NODE_COMPILE_CACHE'
const RUN = 'SUBMISSION_MIRROR_TEST_RUN'

/**
 * Has every process that the tests start keep what it compiled, for the next one: the product is started hundreds of times, and loading
 * it is most of what a start takes. For the process that runs the tests, before it makes its workers.
 */
export function shareCompiled(): void {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-compiled-'))
  process.env[RUN] = folder
  process.env[CACHE] = join(folder, 'cache')
  // Not before: each worker writes what it compiled when it is told to stop.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
}

/** A folder that all workers of one run share, and that ends with it; undefined outside of a run. */
export function sharedFolder(): string | undefined {
  return process.env[RUN]
}

/** What a child process with an environment of its own is given, beside the path. */
export function compiledEnv(): Readonly<Record<string, string>> {
  const folder = process.env[CACHE]
  return folder === undefined ? {} : { [CACHE]: folder }
}
