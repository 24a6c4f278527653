import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { FatalError, messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { DatabaseConfig, Db, FailPoint } from '../engine/db.ts'
import { PostgresDb } from '../postgres/postgres.ts'
import { SqliteDb } from '../sqlite/sqlite.ts'

export interface OpenOptions {
  readonly clock: Clock
  readonly log: Log
  readonly failPoint?: FailPoint | undefined
}

/**
 * Opens the database that the settings name; SQLite's folder and file are made when they are missing. Postgres is not
 * connected yet, so that an outage shows with the first statement, as it does later.
 * The schema is `migrate`'s or `checkSchema`'s business.
 * @throws FatalError when SQLite's folder or file cannot be written, or when the file is damaged; TransientError when it
 * cannot be opened now.
 */
export async function openDb(database: DatabaseConfig, options: OpenOptions): Promise<Db> {
  if (database.kind === 'postgres') return new PostgresDb(database, options)
  makeWritable(database.path)
  return new SqliteDb(database.path, options)
}

/** @throws FatalError with a sentence that tells the operator what cannot be written, by whom, and what to do. */
export function makeWritable(path: string): void {
  if (existsSync(path) && isFolder(path)) throw new FatalError(`${path} is a folder; name a file in it by DATABASE_URL`)
  const folder = dirname(path)
  try {
    makeFolder(folder)
  } catch (error) {
    throw new FatalError(`The folder ${folder} cannot be made by ${user()} (${messageOf(error)}); set DATABASE_URL to another place`, {
      cause: error,
    })
  }
  // SQLite writes its log beside the file, so the folder must be writable too.
  for (const place of existsSync(path) ? [folder, path] : [folder]) {
    try {
      accessSync(place, constants.R_OK | constants.W_OK)
    } catch (error) {
      throw new FatalError(`${notWritable(place, error)}, or set DATABASE_URL to a place that is writable`, { cause: error })
    }
  }
}

/** @returns who cannot write there, and the first of what can be done about it: nobody's rights help where the whole volume is read-only. */
export function notWritable(place: string, error: unknown): string {
  return error instanceof Error && 'code' in error && error.code === 'EROFS'
    ? `${place} lies on a volume that is mounted read-only; mount it writable, once it is known why it is not (a disk that fails becomes so too)`
    : `${place} is not writable by ${user()}; give it to that user (chown)`
}

/** Node's own way to make a folder with those above it never ends where the system says that they are not there, as below /proc. */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it just now.
    if (!isFolder(folder)) throw error
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function user(): string {
  try {
    return `user ${userInfo().uid}`
  } catch {
    // A container may run under a number that no list of users names.
    return 'the user of this process'
  }
}
