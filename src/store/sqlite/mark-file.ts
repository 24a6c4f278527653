import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { replaceFile } from '../../base/durable-file.ts'
import type { LogMark } from '../engine/log-seen.ts'

/**
 * The file beside a SQLite database that knows how far the change log came. It is no part of the database, so whoever puts an older copy of
 * the database in its place leaves it behind, and the next start sees that changes are missing.
 */
export interface MarkFile {
  readonly logEpoch: string
  /**
   * Tokens that the database may bear: of the process that wrote last, and while a start replaces that token, of both. The file is written
   * before the database and after it, so that a crash in between looks like neither.
   */
  readonly tokens: readonly string[]
  readonly marks: readonly LogMark[]
}

const shape = z.object({
  logEpoch: z.string(),
  tokens: z.array(z.string()),
  marks: z.array(
    z.object({
      seq: z.int().positive(),
      fingerprint: z.string(),
      touched: z.array(z.tuple([z.string(), z.string()]).readonly()).readonly(),
    }),
  ),
})

/** The name of the file. */
export function markFileOf(database: string): string {
  return `${database}-mark`
}

/** @returns null when there is none, or none that can be read: then it tells nothing. */
export async function readMark(database: string): Promise<MarkFile | null> {
  try {
    return shape.parse(JSON.parse(await readFile(markFileOf(database), 'utf8')))
  } catch {
    return null
  }
}

/** Replaces the file in one step, durably: a power failure leaves the old or the new one. @throws what the file system throws. */
export async function writeMark(database: string, mark: MarkFile): Promise<void> {
  const path = markFileOf(database)
  await replaceFile(path, `${path}.new`, JSON.stringify(mark))
}
