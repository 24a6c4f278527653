import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { replaceFile, syncFolder } from './durable-file.ts'
import { codeOf } from './errors.ts'

/** @returns what a file says of whose its folder is; null when the folder, or the file in it, is missing. @throws what the file system throws. */
export async function readOwner(file: string): Promise<string | null> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Writes it, durably, into a folder that exists. @throws what the file system throws. */
export async function writeOwner(file: string, owner: string): Promise<void> {
  await replaceFile(file, `${file}.new`, `${owner}\n`)
  await syncFolder(dirname(file))
}
