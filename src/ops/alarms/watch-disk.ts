import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Observer } from '../../base/observer.ts'
import { sizeText } from '../output/text.ts'
import { type Condition, ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

const GIB = 1024 ** 3
/** What must be free: this share of the volume, at most `ENOUGH_BYTES`. */
const SHARE = 0.1
const ENOUGH_BYTES = 5 * GIB
/** The alarm ends with this many times as much. */
const RELIEF = 1.25

/** The space of a volume in bytes: free for the user of this process, and total. */
export interface DiskSpace {
  readonly freeBytes: number
  readonly sizeBytes: number
}

export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}

/**
 * Watches the volume of the SQLite database; a Postgres server must watch its own.
 * @param space see `diskSpace`; tests replace it.
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

/** Whether the volume of the database has too little room. @param folder of the database, on that volume. */
export function diskNearlyFull(folder: string, { freeBytes, sizeBytes }: DiskSpace): Condition {
  const needed = Math.min(sizeBytes * SHARE, ENOUGH_BYTES)
  const level = freeBytes < needed ? 'on' : freeBytes < needed * RELIEF ? 'between' : 'off'
  const free = `${sizeText(freeBytes)} of ${sizeText(sizeBytes)} are free on the volume of the database (${folder})`
  return ofInstallation('disk_space', level, `${free}, and when it is full deliveries are answered 503`)
}
