import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const VARIABLE = 'NODE_COMPILE_CACHE'

/**
 * Has every process that the tests start keep what it compiled, for the next one: the product is started hundreds of times, and loading
 * its sources is most of what a start takes. For the process that runs the tests, before it makes its workers. @returns what ends it.
 */
export function shareCompiled(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-compiled-'))
  process.env[VARIABLE] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}

/** What a child process with an environment of its own is given, beside the path. */
export function compiledEnv(): Readonly<Record<string, string>> {
  const folder = process.env[VARIABLE]
  return folder === undefined ? {} : { [VARIABLE]: folder }
}
