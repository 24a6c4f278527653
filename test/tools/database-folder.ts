import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FOLDER = 'SUBMISSION_MIRROR_TEST_DATABASES'
const MEMORY = '/dev/shm'
const ENOUGH_BYTES = 1 << 30

/**
 * Has the SQLite databases of the run lie in memory, where the system offers that and has room. Each commit waits for the disk, which
 * all tests share, and no test could tell: a process that is killed takes nothing back from the system. For the process that runs the
 * tests, before it makes its workers.
 */
export function shareDatabaseFolder(): void {
  const folder = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), 'submission-mirror-databases-'))
  process.env[FOLDER] = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
}

/** Where a test makes folders for its databases. Outside of a run that is on the disk. */
export function databaseFolder(): string {
  return process.env[FOLDER] ?? tmpdir()
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize > ENOUGH_BYTES
}
