import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, messageOf, PermanentError } from '../../base/errors.ts'
import { foreignOwner, readOwner, writeOwner } from '../../base/owner-file.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'

/** Names of backup files. Other files in the folder are ignored. */
const COPY = /^mirror-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/
/** Names of temporary files. Such files remain if the process dies during a backup or test restore. */
const LEFT = /^mirror-\d{8}T\d{6}Z\.db\.(?:partial|trial)-/
/** Name of the file that says which mirror owns the folder. The file contains the mirror's first log epoch. */
const OWNER = 'mirror-of-backups.txt'
const DAY_MS = 86_400_000

/**
 * Backups to keep: the newest `keep` backups, and all backups of the last `keepDays` days.
 * If `keepDays` is null, only the newest `keep` backups are kept.
 */
export interface Kept {
  readonly keep: number
  readonly keepDays: number | null
}

/** @returns the file name of the backup that is due at `slot`. Retries use the same name. */
export function copyName(slot: TimeText): string {
  return `mirror-${new Date(msFromTime(slot)).toISOString().replace(/[-:]|\.\d+/g, '')}.db`
}

/**
 * Checks that a folder can hold the backups of this mirror.
 * @param mirror first log epoch of this mirror.
 * @returns null if the folder belongs to this mirror, or is missing, or contains neither backups nor an owner file.
 * Otherwise returns the problem.
 * @throws errors of the file system.
 */
export async function foreignCopies(folder: string, mirror: string): Promise<string | null> {
  const owner = await readOwner(join(folder, OWNER))
  const isUnlisted = owner === null && (await namesIn(folder)).some((name) => COPY.test(name))
  const found = isUnlisted
    ? `${folder} contains backups but no ${OWNER} with their mirror`
    : foreignOwner(folder, 'backups', OWNER, { owner, mirror })
  if (found === null) return null
  return `${found}: check DATABASE_URL, or set BACKUP_DIR to another folder. If the other mirror is no longer used, move its files out of this folder`
}

/**
 * Creates a missing folder, records this mirror as its owner, and removes temporary files of dead processes.
 * @param mirror first log epoch of this mirror.
 * @throws PermanentError if the folder can't be created, or belongs to another mirror. No file is then changed.
 */
export async function prepareFolder(folder: string, mirror: string): Promise<void> {
  try {
    // Only the owner may open the folder, because a backup contains all mirrored data.
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new PermanentError(`the folder ${folder} cannot be created (${messageOf(error)}); create it, or set BACKUP_DIR to another folder`)
  }
  const problem = await foreignCopies(folder, mirror)
  if (problem !== null) throw new PermanentError(`${problem}; no backup was made or removed`)
  const owner = join(folder, OWNER)
  if ((await readOwner(owner)) === null) await writeOwner(owner, mirror)
  for (const name of await readdir(folder)) if (LEFT.test(name)) await rm(join(folder, name), { recursive: true, force: true })
}

/** Removes the backups that `Kept` does not include. @returns the number of removed backups. */
export async function removeOldCopies(folder: string, { keep, keepDays }: Kept, nowMs: number): Promise<number> {
  const copies = (await readdir(folder))
    .filter((name) => COPY.test(name))
    .sort()
    .reverse()
  const old = copies.slice(keep).filter((name) => keepDays === null || nowMs - dueMs(name) > keepDays * DAY_MS)
  for (const name of old) await rm(join(folder, name))
  return old.length
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
}

function dueMs(name: string): number {
  return Date.parse(name.replace(COPY, '$1-$2-$3T$4:$5:$6Z'))
}
