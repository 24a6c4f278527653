import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { OnDisk } from '../../base/durable-file.ts'
import { codeOf } from '../../base/errors.ts'
import { isDocumentPath, type KnownPaths, pathOf, removeUnknown, SPARED_MS } from './storage.ts'

/** Prefix of the names of unfinished files. */
export const TEMPORARY = '.incoming-'
/** Prefix of the names of documents that are being removed. The document's hash follows. */
const ASIDE = '.removing-'

interface Sweep {
  /** Current time in ms since the epoch, by the clock of the file system, which may be on another machine. */
  readonly nowMs: number
  readonly known: KnownPaths
  readonly paths: () => AsyncIterable<string>
  readonly onDisk: OnDisk
}

/**
 * Removes unfinished files and documents that aren't in the database. Keeps recent files.
 * @returns the number of removed files.
 */
export async function sweepFolder(folder: string, sweep: Sweep): Promise<number> {
  await putBack(folder, sweep)
  const removed = await removeTemporaries(folder, sweep)
  return removed + (await removeUnknown(oldPaths(folder, sweep), sweep.known, (path) => removeOld(folder, path, sweep)))
}

async function* oldPaths(folder: string, sweep: Sweep): AsyncGenerator<string> {
  for await (const path of sweep.paths()) if (await isOld(join(folder, path), sweep)) yield path
}

/** Restores the names of documents that a killed sweep was removing. This sweep then checks these documents again. */
async function putBack(folder: string, { onDisk }: Sweep): Promise<void> {
  for (const name of await onDisk(readdir(folder))) {
    const path = pathOf(name.slice(ASIDE.length))
    if (name.startsWith(ASIDE) && isDocumentPath(path)) await onDisk(rename(join(folder, name), join(folder, path)))
  }
}

/**
 * Removes unfinished files older than `SPARED_MS`.
 * @returns the number of removed files.
 */
export async function removeTemporaries(folder: string, sweep: Pick<Sweep, 'nowMs' | 'onDisk'>): Promise<number> {
  let removed = 0
  for (const name of await sweep.onDisk(readdir(folder))) {
    const path = join(folder, name)
    if (!name.startsWith(TEMPORARY) || !(await isOld(path, sweep))) continue
    await sweep.onDisk(rm(path, { force: true }))
    removed += 1
  }
  return removed
}

/**
 * Removes a document, unless it is recent. Renames the document first and then checks its age again. If another process
 * has just stored the same bytes, the document gets its name back.
 * @returns whether the document was removed.
 */
async function removeOld(folder: string, path: string, sweep: Sweep): Promise<boolean> {
  const [from, aside] = [join(folder, path), join(folder, `${ASIDE}${path.slice(3)}`)]
  if (!(await sweep.onDisk(rename(from, aside).then(() => true, falseWhenAbsent)))) return false
  const isStillOld = await isOld(aside, sweep)
  await sweep.onDisk(isStillOld ? rm(aside, { force: true }) : rename(aside, from))
  return isStillOld
}

async function isOld(path: string, { nowMs, onDisk }: Pick<Sweep, 'nowMs' | 'onDisk'>): Promise<boolean> {
  return await onDisk(stat(path).then(({ mtimeMs }) => nowMs - mtimeMs > SPARED_MS, falseWhenAbsent))
}

function falseWhenAbsent(error: unknown): boolean {
  if (codeOf(error) === 'ENOENT') return false
  throw error
}
