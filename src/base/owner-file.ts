import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { replaceFile, syncFolder } from './durable-file.ts'
import { codeOf } from './errors.ts'

/**
 * Reads an owner file. An owner file names the mirror that a folder belongs to.
 * @returns the mirror's name; null if the file or its folder is missing.
 * @throws errors of the file system.
 */
export async function readOwner(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * Writes an owner file durably. The folder must exist. Several processes can call this at the same time.
 * @throws errors of the file system.
 */
export async function writeOwner(file: string, owner: string): Promise<void> {
  await replaceFile(file, `${file}.${randomUUID()}`, `${owner}\n`)
  await syncFolder(dirname(file))
}

/**
 * @param place for example `the folder /data/backups`.
 * @param what the contents of the place, for example `backups`.
 * @param owner the mirror that the owner file names.
 * @returns an error text if the place belongs to another mirror; null if it belongs to this mirror or to none.
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
