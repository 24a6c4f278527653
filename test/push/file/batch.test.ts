import { expect, it } from 'vitest'
import { writeBatch } from '../../../src/push/file/batch.ts'
import type { Drop } from '../../../src/push/file/drop.ts'
import { rowWriter } from '../../../src/push/file/rows.ts'
import { pushItem } from './support.ts'

const AT_A_TIME = 8

it('begins no other file when one cannot be written, and removes those that it has begun', async () => {
  const begun: string[] = []
  const removed: string[] = []
  const drop: Drop = {
    atOnce: AT_A_TIME,
    async write(name) {
      begun.push(name)
      if (begun.length === 1) throw new Error('the disk is full')
    },
    rename: async () => undefined,
    sync: async () => undefined,
    read: async () => '',
    async remove(name) {
      removed.push(name)
    },
    list: async () => [],
    close: async () => undefined,
  }
  const items = Array.from({ length: 3 * AT_A_TIME }, (_, n) => pushItem(n, { submissionId: `s-${n}` }))
  const writer = rowWriter({ format: 'ndjson', byteOrderMark: false, entities: null, personalFields: [], filter: null })
  const progress = { renaming: null, left: new Set<string>() }
  const writing = writeBatch(drop, items, {
    destination: { name: 'agency', per: 'submission' },
    place: 'a folder',
    writer,
    late: () => false,
    progress,
    openDocument: null,
  })
  await expect(writing).rejects.toThrow('the disk is full')
  expect(begun.length).toBeLessThanOrEqual(AT_A_TIME)
  expect(removed).toEqual(expect.arrayContaining(begun))
  expect(progress.renaming).toBeNull()
})
