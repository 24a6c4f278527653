import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { OnDisk } from '../../base/durable-file.ts'
import { codeOf } from '../../base/errors.ts'
import { isDocumentPath, type KnownPaths, pathOf, SPARED_MS } from './storage.ts'

/** How the names of half-written files begin. */
export const TEMPORARY = '.incoming-'
/** How the names of documents that are being removed begin; their hash follows. */
const ASIDE = '.removing-'
/** Paths that the database is asked about at a time. */
const BATCH = 500

interface Sweep {
  /** The time by the clock of the folder's machine. */
  readonly nowMs: number
  readonly known: KnownPaths
  readonly paths: () => AsyncIterable<string>
  readonly onDisk: OnDisk
}

/** Removes half-written files and unknown documents from a folder. @returns how many. */
export async function sweepFolder(folder: string, sweep: Sweep): Promise<number> {
  await putBack(folder, sweep)
  let removed = await removeTemporaries(folder, sweep)
  let batch: string[] = []
  for await (const path of sweep.paths()) {
    if (!(await isOld(join(folder, path), sweep))) continue
    batch.push(path)
    if (batch.length < BATCH) continue
    removed += await removeUnknown(folder, batch, sweep)
    batch = []
  }
  return removed + (await removeUnknown(folder, batch, sweep))
}

/** A sweep that was killed left a document aside: this one decides about it anew. */
async function putBack(folder: string, { onDisk }: Sweep): Promise<void> {
  for (const name of await onDisk(readdir(folder))) {
    const path = pathOf(name.slice(ASIDE.length))
    if (name.startsWith(ASIDE) && isDocumentPath(path)) await onDisk(rename(join(folder, name), join(folder, path)))
  }
}

/** Removes half-written files that are old. @returns how many. */
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

async function removeUnknown(folder: string, batch: readonly string[], sweep: Sweep): Promise<number> {
  if (batch.length === 0) return 0
  const known = await sweep.known(batch)
  let removed = 0
  for (const path of batch.filter((each) => !known.has(each))) {
    if (await removeOld(folder, path, sweep)) removed += 1
  }
  return removed
}

/**
 * Removes a document, unless the same bytes were kept again since it was looked at: another process is about to record them. It is renamed
 * first, so that what is looked at the second time is what is removed.
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
