import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { replaceFile, syncFolder } from './durable-file.ts'
import { codeOf } from './errors.ts'

/**
 * @returns the mirror that a file names as the owner of its folder; null if folder or file is missing. @throws what the file system throws.
 */
export async function readOwner(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Writes the owner durably into an existing folder, also from several processes. @throws what the file system throws. */
export async function writeOwner(file: string, owner: string): Promise<void> {
  await replaceFile(file, `${file}.${randomUUID()}`, `${owner}\n`)
  await syncFolder(dirname(file))
}

/**
 * @param place for the sentence: `the folder /data/backups`. @param what its contents. @param owner from the owner file there.
 * @returns a sentence that names another mirror as the owner; null if nobody or this mirror owns the place.
 */
export function foreignOwner(
  place: string,
  what: string,
  file: string,
  { owner, mirror }: { owner: string | null; mirror: string },
): string | null {
  if (owner === null || owner === mirror) return null
  return `${place} contains the ${what} of another mirror (its ${basename(file)} names ${owner}, and this mirror is ${mirror})`
}
