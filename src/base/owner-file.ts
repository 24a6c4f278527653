import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { replaceFile, syncFolder } from './durable-file.ts'
import { codeOf } from './errors.ts'

/** @returns the mirror that a file names as the owner of its folder; null when the folder, or the file in it, is missing. @throws what the file system throws. */
export async function readOwner(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Writes it, durably, into a folder that exists; several processes may do so at once. @throws what the file system throws. */
export async function writeOwner(file: string, owner: string): Promise<void> {
  await replaceFile(file, `${file}.${randomUUID()}`, `${owner}\n`)
  await syncFolder(dirname(file))
}

/**
 * Whether a place is another mirror's.
 * @param place in a sentence: `the folder /data/backups`. @param what lies there.
 * @param owner as the file of this name there says. @returns in a sentence whose it is; null when it is nobody's or this one's.
 */
export function foreignOwner(
  place: string,
  what: string,
  file: string,
  { owner, mirror }: { owner: string | null; mirror: string },
): string | null {
  if (owner === null || owner === mirror) return null
  return `${place} is for the ${what} of another mirror (${basename(file)} there names ${owner}, and this one is ${mirror})`
}
