import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, UsageError } from '../base/errors.ts'

const DATABASE = 'mirror.db'

/**
 * Creates the demo's folder: `wanted`, or if undefined, a new folder in `data`.
 * @param stamp timestamp for the name of a new folder.
 * @returns the folder's path.
 * @throws UsageError if the folder can't be created, or if it contains the database of an earlier demo.
 */
export function makeDemoFolder(wanted: string | undefined, stamp: string): string {
  try {
    const folder = wanted ?? newFolder(join('data', `demo-${stamp}`))
    mkdirSync(folder, { recursive: true })
    if (!existsSync(join(folder, DATABASE))) return folder
  } catch (error) {
    throw new UsageError([`The demo can't create its folder (${messageOf(error)}). Choose a writable one with --folder`])
  }
  throw new UsageError([`${wanted} contains the database of an earlier demo. Choose another folder, or omit --folder`])
}

function newFolder(path: string): string {
  mkdirSync(join(path, '..'), { recursive: true })
  for (let n = 1; ; n++) {
    const name = n === 1 ? path : `${path}-${n}`
    if (tryCreate(name)) return name
  }
}

function tryCreate(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
