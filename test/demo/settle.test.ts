import { expect, it } from 'vitest'
import { truthSchema } from '../../src/demo/compare.ts'
import { settle } from '../../src/demo/settle.ts'
import type { Json } from '../../src/model/json.ts'
import { detailReads } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { learnIds } from '../../src/store/reads/known-ids.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll } from '../tools/mirror.ts'
import {
  byPoll,
  detailFact,
  observedEvent,
  observedState,
  trackFact,
  uuid,
  wireDetails,
  wireEvent,
  wireReadiness,
  wireRequirements,
} from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const account = 'default'
const submission = uuid(9, 1)
const details = wireDetails(submission)
const view = wireRequirements(submission, [], wireReadiness(submission))
const SECOND_MS = 1_000

/** The mirror lacks an event of the service; `wait` takes one second. */
async function openSettling(db: Db, onSecond: (second: number, requested: number, nowMs: number) => Promise<unknown>) {
  await applyAll(db, [
    trackFact(account, submission),
    observedState(account, submission, view, 1),
    ...detailReads.map((read) => detailFact(account, submission, read, details[read], 1)),
  ])
  const events: Json[] = [wireEvent(1)]
  const truth = truthSchema.parse({
    account,
    submissions: [{ submission_id: submission, events, messages: [], requirements: view, ...details, bind_requests: [], policies: [] }],
  })
  const begun = Date.now()
  let [seconds, requested] = [0, 0]
  const compared = await settle({
    db,
    account,
    clock: { now: () => begun + seconds * SECOND_MS },
    truth: async () => truth,
    wait: async () => {
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

/** Ends all reads of the submission. */
async function endReads(db: Db, atMs: number): Promise<void> {
  const at = timeFromMs(atMs)
  await db.write('test', (tx) =>
    tx.sql.updateTable('sync_reads').set({ last_read_at: at, last_full_read_at: at }).where('id', '=', '').execute(),
  )
}

it.each(testDatabases)('the demo requests postponed reads, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const fixOnRequest = async (_: number, requested: number) =>
    requested > 0 && (await applyAll(db, [observedEvent(account, submission, wireEvent(1), byPoll)]))
  expect(await openSettling(db, fixOnRequest)).toEqual({ differences: 0, seconds: 21, requested: 1 })
})

it.each(testDatabases)('the demo ends with differences that two full re-reads did not fix, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const readNow = async (second: number, _: number, nowMs: number) => (second === 3 || second === 5) && (await endReads(db, nowMs))
  expect(await openSettling(db, readNow)).toEqual({ differences: 1, seconds: 6, requested: 0 })
})

it.each(testDatabases)('the demo waits for reads by id, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const policy = { account, submissionId: submission, kind: 'policy', id: uuid(5, 1), via: 'requirements' } as const
  await db.write('test', (tx) => learnIds(tx, [policy]))
  const readNow = async (second: number, _: number, nowMs: number) => {
    if (second === 3 || second === 5) await endReads(db, nowMs)
    const at = timeFromMs(nowMs)
    if (second === 8 || second === 10) {
      await endReads(db, nowMs)
      await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ last_read_at: at }).where('id', '<>', '').execute())
    }
  }
  expect(await openSettling(db, readNow)).toEqual({ differences: 1, seconds: 11, requested: 0 })
})
