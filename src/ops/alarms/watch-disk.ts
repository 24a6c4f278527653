import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Observer } from '../../base/observer.ts'
import { type Problem, problem } from '../health/problem.ts'
import { sizeText } from '../output/text.ts'
import type { Watcher } from './watcher.ts'

const GIB = 1024 ** 3
/** Required free space: this share of the volume, but at most `ENOUGH_BYTES`. */
const SHARE = 0.1
const ENOUGH_BYTES = 5 * GIB
/** `disk_space` resolves when the free space reaches this multiple of the required space. */
const RELIEF = 1.25

/** Space of a volume in bytes. `freeBytes` is what the user of this process can still write. */
export interface DiskSpace {
  readonly freeBytes: number
  readonly sizeBytes: number
}

export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}

/**
 * Watches the volume of the SQLite database. For Postgres, monitor the disk of the server separately.
 * @param space measures the volume of a folder. Tests replace this function.
 */
export function diskWatcher(observer: Observer, space: (folder: string) => Promise<DiskSpace> = diskSpace): Watcher {
  return {
    names: ['disk_space'],
    async check({ config: { database } }) {
      if (database.kind !== 'sqlite') return []
      const folder = dirname(database.path)
      const { freeBytes, sizeBytes } = await space(folder)
      observer.set('disk_free_bytes', freeBytes)
      observer.set('disk_size_bytes', sizeBytes)
      return [diskNearlyFull(folder, { freeBytes, sizeBytes })]
    },
  }
}

/** @returns the problem `disk_space`. Its level depends on the free space. @param folder folder of the database. */
export function diskNearlyFull(folder: string, { freeBytes, sizeBytes }: DiskSpace): Problem {
  const needed = Math.min(sizeBytes * SHARE, ENOUGH_BYTES)
  const level = freeBytes < needed ? 'on' : freeBytes < needed * RELIEF ? 'between' : 'off'
  const free = `${sizeText(freeBytes)} of ${sizeText(sizeBytes)} are free on the database volume (${folder})`
  return problem('disk_space', {}, level, `${free}; when it is full, deliveries are answered 503`)
}
