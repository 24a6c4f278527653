import { existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FOLDER = 'SUBMISSION_MIRROR_TEST_DATABASES'
const MEMORY = '/dev/shm'
const ENOUGH_BYTES = 1 << 30

/**
 * Puts SQLite databases of the run in memory if possible, since commits would wait for the shared disk, and a killed process loses nothing
 * there. Call it in the main process, before its workers start.
 */
export function shareDatabaseFolder(): void {
  const folder = mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), 'submission-mirror-databases-'))
  process.env[FOLDER] = folder
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
}

/** Folder for databases of tests; on disk outside of a run. */
export function databaseFolder(): string {
  return process.env[FOLDER] ?? tmpdir()
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize > ENOUGH_BYTES
}
