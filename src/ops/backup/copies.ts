import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf, PermanentError } from '../../base/errors.ts'
import { msFromTime, type TimeText } from '../../model/time.ts'

/** Names of the copies that are made by a timetable. Other files in their folder are left alone. */
const COPY = /^mirror-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/
/** What a copy or its trial left when the process died. */
const LEFT = /^mirror-\d{8}T\d{6}Z\.db\.(?:partial|trial)-/
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

/** Creates the folder where it is missing, and removes what a process that died left unfinished in it. */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    // Whoever reads a copy reads the mirror.
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new PermanentError(`the folder ${folder} cannot be created (${messageOf(error)}); create it, or set BACKUP_DIR to another place`)
  }
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

function dueMs(name: string): number {
  return Date.parse(name.replace(COPY, '$1-$2-$3T$4:$5:$6Z'))
}
