import { expect } from 'vitest'
import type { Db } from '../../src/store/engine/db.ts'
import { inboxRows, logFaults, untilAgreed } from './agreement.ts'
import type { Served } from './serve.ts'
import type { Stage } from './stage.ts'

/** Conditions at the end of a story with any faults. */
export async function expectTheStory(stage: Stage, running: Served): Promise<Db> {
  const { sandbox } = stage
  await sandbox.story.ended
  await sandbox.deliveries.idle()
  // Faults would make the time of agreement random: each pause stops all reads.
  sandbox.faults.set([])
  const db = await stage.openStore()
  expect(await untilAgreed(db, sandbox, running), running.lines().join('\n')).toEqual([])
  expect(sandbox.activity.writes).toEqual([])
  expect(await running.stop(), running.lines().join('\n')).toBe(0)
  expect(await logFaults(db)).toEqual([])
  expect((await inboxRows(db)).filter((row) => row['state'] !== 'done')).toEqual([])
  const { deliveries, faults } = sandbox.stats()
  expect(deliveries).toMatchObject({ givenUp: 0, lost: expect.toSatisfy((n: number) => n > 0) })
  expect(Object.keys(faults)).toEqual(
    expect.arrayContaining(['lose', 'duplicate', 'twin', 'reorder', 'delay', 'status', 'short_page', 'empty_page']),
  )
  return db
}
