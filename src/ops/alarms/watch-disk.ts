import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Observer } from '../../base/observer.ts'
import { ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

const GIB = 1024 ** 3
/** The share of the volume, and how much at most, that must be free. */
const SHARE = 0.1
const ENOUGH_BYTES = 5 * GIB
/** So much more ends the alarm. */
const RELIEF = 1.25

/** How much room a volume has, in bytes: what the user of this process may still use of it, and its size. */
export interface DiskSpace {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** Asks the system. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}

/**
 * Watches the volume of the SQLite database; the disk of a Postgres server is that server's business.
 * @param space see `diskSpace`; a test puts its own in the place.
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
      const needed = Math.min(sizeBytes * SHARE, ENOUGH_BYTES)
      const level = freeBytes < needed ? 'on' : freeBytes < needed * RELIEF ? 'between' : 'off'
      const text =
        `${sizeText(freeBytes)} of ${sizeText(sizeBytes)} are free on the volume of the database (${folder}); make room, lower RETENTION_DAYS, or ` +
        'give it a larger volume: when it is full deliveries are answered 503'
      return [ofInstallation('disk_space', level, text)]
    },
  }
}

function sizeText(bytes: number): string {
  return bytes < GIB ? `${Math.round(bytes / 1024 ** 2)} MiB` : `${(bytes / GIB).toFixed(1)} GiB`
}
