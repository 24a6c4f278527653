import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { replaceFile, syncFolder } from './durable-file.ts'
import { codeOf } from './errors.ts'

/** @returns the mirror named in an owner file; null if the file or its folder is missing. @throws errors of the file system. */
export async function readOwner(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Durably writes an owner file to an existing folder. Safe across processes. @throws errors of the file system. */
export async function writeOwner(file: string, owner: string): Promise<void> {
  await replaceFile(file, `${file}.${randomUUID()}`, `${owner}\n`)
  await syncFolder(dirname(file))
}

/**
 * @param place as `the folder /data/backups`. @param what its contents. @param owner from its owner file.
 * @returns a sentence that names the other mirror that owns the place; null if nobody or this mirror does.
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
