import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { silentObserver } from '../../../src/base/observer.ts'
import { diskSpace, diskWatcher } from '../../../src/ops/alarms/watch-disk.ts'
import type { WatchContext } from '../../../src/ops/alarms/watcher.ts'

const GIB = 1024 ** 3
const KIB = 1024
const look = (database: object, freeBytes: number, sizeBytes: number) =>
  diskWatcher(silentObserver, async () => ({ freeBytes, sizeBytes })).check({ config: { database } } as WatchContext)

it.each([
  // A tenth of a small volume, 5 GiB of a large one; a quarter more ends the alarm.
  [10 * GIB, GIB - KIB, 'on'],
  [10 * GIB, GIB, 'between'],
  [10 * GIB, 1.25 * GIB, 'off'],
  [1_000 * GIB, 5 * GIB - KIB, 'on'],
  [1_000 * GIB, 6 * GIB, 'between'],
  [1_000 * GIB, 6.25 * GIB, 'off'],
])('of a volume of %d bytes with %d free the alarm is %s', async (sizeBytes, freeBytes, level) => {
  expect(await look({ kind: 'sqlite', path: '/data/mirror.db' }, freeBytes, sizeBytes)).toMatchObject([{ name: 'disk_space', level }])
})

it('does not look at the disk of a Postgres server', async () => {
  expect(await look({ kind: 'postgres', url: 'postgres://elsewhere' }, 0, GIB)).toEqual([])
})

it('asks the system in bytes', async () => {
  const { bsize, blocks } = statfsSync(tmpdir())
  const { freeBytes, sizeBytes } = await diskSpace(tmpdir())
  expect([sizeBytes, freeBytes % bsize]).toEqual([bsize * blocks, 0])
})
