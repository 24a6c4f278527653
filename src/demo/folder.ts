import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, UsageError } from '../base/errors.ts'

const DATABASE = 'mirror.db'

/**
 * Creates the folder of a demo: the wanted one, else a new one below `data`.
 * @param stamp the time, for the name of a new folder.
 * @returns its path.
 * @throws UsageError when it cannot be created, or contains the database of an earlier demo.
 */
export function makeDemoFolder(wanted: string | undefined, stamp: string): string {
  try {
    const folder = wanted ?? newFolder(join('data', `demo-${stamp}`))
    mkdirSync(folder, { recursive: true })
    if (!existsSync(join(folder, DATABASE))) return folder
  } catch (error) {
    throw new UsageError([`the demo cannot make its folder (${messageOf(error)}); run it where you may write, or name one with --folder`])
  }
  throw new UsageError([`${wanted} has the database of an earlier demo in it; name another folder, or leave --folder out for a new one`])
}

/** @returns the first of `path`, `path-2`, `path-3` … that did not exist. */
function newFolder(path: string): string {
  mkdirSync(join(path, '..'), { recursive: true })
  for (let n = 1; ; n++) {
    const name = n === 1 ? path : `${path}-${n}`
    if (isMade(name)) return name
  }
}

/** Of two demos that start in the same second, only one creates it. */
function isMade(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
