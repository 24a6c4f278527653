import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { codeOf, FatalError, messageOf } from '../../base/errors.ts'
import type { DatabaseConfig, Db, OpenOptions } from '../engine/db.ts'
import { PostgresDb } from '../postgres/postgres.ts'
import { SqliteDb } from '../sqlite/sqlite.ts'

/**
 * Opens the configured database. On SQLite, creates a missing folder and file.
 * Doesn't connect to Postgres, so an outage causes an error only at the first statement.
 * Doesn't create or check tables. Call `migrate` or `checkSchema` afterwards.
 * @throws FatalError if SQLite's folder or file can't be written, or if the file is damaged; TransientError if a later
 * attempt may succeed.
 */
export async function openDb(database: DatabaseConfig, options: OpenOptions): Promise<Db> {
  if (database.kind === 'postgres') return new PostgresDb(database, options)
  makeWritable(database.path)
  return new SqliteDb(database.path, options)
}

/**
 * Creates a database's folder if the folder is missing. Checks that the folder and the database files are writable.
 * @throws FatalError that names the path, the user, and the fix.
 */
export function makeWritable(path: string): void {
  if (existsSync(path) && isFolder(path)) throw new FatalError(`${path} is a folder; set DATABASE_URL to a file in it`)
  const folder = dirname(path)
  try {
    makeFolder(folder)
  } catch (error) {
    throw new FatalError(`The folder ${folder} cannot be created by ${user()} (${messageOf(error)}); set DATABASE_URL to another place`, {
      cause: error,
    })
  }
  requireWritable(folder, ELSEWHERE)
  requireWritable(path, ELSEWHERE)
  // Checks SQLite's other files, and the lock file of `serve`. If root copied or restored the database, these files may
  // belong to root.
  for (const ending of ['-wal', '-shm', '-journal', '-serve']) requireWritable(`${path}${ending}`, '')
}

const ELSEWHERE = ', or set DATABASE_URL to a writable place'

function requireWritable(place: string, otherwise: string): void {
  try {
    accessSync(place, constants.R_OK | constants.W_OK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    throw new FatalError(`${notWritable(place, error)}${otherwise}`, { cause: error })
  }
}

/**
 * @returns an error text with the path, the user, the owner, and the fix.
 * On a read-only volume, file permissions don't help, so the fix is to mount the volume writable.
 */
export function notWritable(place: string, error: unknown): string {
  if (codeOf(error) === 'EROFS')
    return `${place} is on a volume that is mounted read-only; find out why (a failing disk is a common reason), then mount it writable`
  const owner = ownerOf(place)
  const uid = userId()
  if (owner !== null && owner === uid)
    return `${place} is not writable by ${user()}, its owner; let that user read and write it (chmod u+rwX)`
  const whose = owner === null ? '' : `belongs to user ${owner} and `
  return `${place} ${whose}is not writable by ${user()}; give it to that user (chown ${isFolder(place) ? '-R ' : ''}${uid ?? 'USER'} ${place})`
}

function ownerOf(place: string): number | null {
  try {
    return statSync(place).uid
  } catch {
    return null
  }
}

/**
 * Creates a folder and its missing parents.
 * Doesn't use `mkdirSync` with `recursive`, which hangs if the system reports existing parents as missing, as in /proc.
 */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have created the folder.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function user(): string {
  const uid = userId()
  return uid === null ? 'the user of this process' : `user ${uid}`
}

function userId(): number | null {
  try {
    return userInfo().uid
  } catch {
    // In a container, the user id may have no entry in the user database.
    return null
  }
}
