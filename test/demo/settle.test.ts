import { expect, it, onTestFinished } from 'vitest'
import { truthSchema } from '../../src/demo/compare.ts'
import { settle } from '../../src/demo/settle.ts'
import type { Json } from '../../src/model/json.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { learnIds } from '../../src/store/reads/known-ids.ts'
import { testDatabases } from '../tools/databases.ts'
import { byPoll, eventFact, stateFact, trackFact, uuid, wireEvent, wireRequirements } from '../tools/facts.ts'
import { applyAll } from '../tools/mirror.ts'

const account = 'default'
const submission = uuid(9, 1)
const view = wireRequirements(submission, [])
const SECOND_MS = 1_000

/** The service shows an event that the mirror lacks; `look` lets a second pass. */
async function openSettling(db: Db, onSecond: (second: number, requested: number, nowMs: number) => Promise<unknown>) {
  await applyAll(db, [trackFact(account, submission), stateFact(account, submission, view, 1)])
  const events: Json[] = [wireEvent(1)]
  const truth = truthSchema.parse({
    account,
    submissions: [{ submission_id: submission, events, messages: [], requirements: view }],
  })
  const begun = Date.now()
  let [seconds, requested] = [0, 0]
  const compared = await settle({
    db,
    account,
    clock: { now: () => begun + seconds * SECOND_MS },
    truth: async () => truth,
    look: async () => {
      seconds += 1
      await onSecond(seconds, requested, begun + seconds * SECOND_MS)
    },
    onRequest: (n) => {
      requested += n
    },
  })
  const differences = compared.reduce((sum, each) => sum + each.differences.length, 0)
  return { differences, seconds, requested }
}

/** All reads of the submission end then, feeds from the beginning. */
async function endReads(db: Db, atMs: number): Promise<void> {
  const at = timeFromMs(atMs)
  await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ last_read_at: at, last_replay_at: at }).execute())
}

it.each(testDatabases)('the demo waits for reads that were put off, and requests them, on $name', async ({ open }) => {
  const { db, close } = await open()
  onTestFinished(close)
  const mendOnRequest = async (_: number, requested: number) =>
    requested > 0 && (await applyAll(db, [eventFact(account, submission, wireEvent(1), byPoll)]))
  expect(await openSettling(db, mendOnRequest)).toEqual({ differences: 0, seconds: 21, requested: 1 })
})

it.each(testDatabases)('the demo ends with differences that two whole reads did not mend, on $name', async ({ open }) => {
  const { db, close } = await open()
  onTestFinished(close)
  const readNow = async (second: number, _: number, nowMs: number) => (second === 3 || second === 5) && (await endReads(db, nowMs))
  expect(await openSettling(db, readNow)).toEqual({ differences: 1, seconds: 6, requested: 0 })
})

it.each(testDatabases)('the demo waits for what has an id of its own, on $name', async ({ open }) => {
  const { db, close } = await open()
  onTestFinished(close)
  const policy = { account, submissionId: submission, kind: 'policy', id: uuid(5, 1), via: 'requirements' } as const
  await db.write('test', (tx) => learnIds(tx, [policy]))
  const readNow = async (second: number, _: number, nowMs: number) => {
    if (second === 3 || second === 5) await endReads(db, nowMs)
    const at = timeFromMs(nowMs)
    if (second === 8 || second === 10) {
      await endReads(db, nowMs)
      await db.write('test', (tx) => tx.sql.updateTable('sync_known_ids').set({ last_read_at: at }).execute())
    }
  }
  expect(await openSettling(db, readNow)).toEqual({ differences: 1, seconds: 11, requested: 0 })
})
