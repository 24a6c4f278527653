import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, messageOf, PermanentError } from '../../base/errors.ts'
import { foreignOwner, readOwner, writeOwner } from '../../base/owner-file.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'

/** Names of the copies that are made by a timetable. Other files in their folder are left alone. */
const COPY = /^mirror-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/
/** What a copy or its trial left when the process died. */
const LEFT = /^mirror-\d{8}T\d{6}Z\.db\.(?:partial|trial)-/
/** Its text is the first log epoch of the mirror whose copies lie in the folder. */
const OWNER = 'mirror-of-backups.txt'
const DAY_MS = 86_400_000

/** How many copies are kept: the newest, and further ones for so many days. */
export interface Kept {
  readonly keep: number
  readonly keepDays: number | null
}

/** @returns the name of the copy that is due at a time: it stays the same when the work begins again. */
export function copyName(slot: TimeText): string {
  return `mirror-${new Date(msFromTime(slot)).toISOString().replace(/[-:]|\.\d+/g, '')}.db`
}

/**
 * Whether a mirror may keep its copies in a folder: one that is missing, has none yet, or has its own.
 * @param mirror its first log epoch. @returns why it may not; null when it may. @throws what the file system throws.
 */
export async function foreignCopies(folder: string, mirror: string): Promise<string | null> {
  const owner = await readOwner(join(folder, OWNER))
  const isUnnamed = owner === null && (await namesIn(folder)).some((name) => COPY.test(name))
  const found = isUnnamed
    ? `${folder} holds copies, and no ${OWNER} that says of which mirror`
    : foreignOwner(folder, 'copies', OWNER, { owner, mirror })
  if (found === null) return null
  return `${found}: check DATABASE_URL, set BACKUP_DIR to another folder, or, where the other mirror is given up, move its files out of this one`
}

/**
 * Creates the folder where it is missing, makes it this mirror's, and removes what a process that died left unfinished in it.
 * @param mirror its first log epoch. @throws PermanentError when it cannot be created, or holds another mirror's copies; it is then as it was.
 */
export async function prepareFolder(folder: string, mirror: string): Promise<void> {
  try {
    // Whoever reads a copy reads the mirror.
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new PermanentError(`the folder ${folder} cannot be created (${messageOf(error)}); create it, or set BACKUP_DIR to another place`)
  }
  const problem = await foreignCopies(folder, mirror)
  if (problem !== null) throw new PermanentError(`${problem}; nothing was copied or removed`)
  const owner = join(folder, OWNER)
  if ((await readOwner(owner)) === null) await writeOwner(owner, mirror)
  for (const name of await readdir(folder)) if (LEFT.test(name)) await rm(join(folder, name), { recursive: true, force: true })
}

/** Removes copies that need not be kept. @returns how many. */
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
