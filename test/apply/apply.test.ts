import { expect, it, onTestFinished } from 'vitest'
import { throughDoor } from '../../src/apply/apply.ts'
import { Counts } from '../receive/support.ts'
import { testDatabases } from '../tools/databases.ts'
import { eventFact, trackFact, uuid, wireEvent } from '../tools/facts.ts'
import { applyAll } from '../tools/mirror.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

it.each(testDatabases)('what is written is counted when it is committed, and only then, on $name', async ({ open }) => {
  const { db, close } = await open()
  onTestFinished(close)
  const counts = new Counts()
  const written = (entity: string) => counts.of('applied_rows_total', { account: ACCOUNT, entity, operation: 'insert', cause: 'webhook' })
  const facts = [1, 2].map((n) => eventFact(ACCOUNT, ID, wireEvent(n)))
  const failing = throughDoor(db, counts, 'test', async (door) => {
    await door.apply(facts)
    throw new Error('no more')
  })
  await expect(failing).rejects.toThrow('no more')
  expect([written('market_events'), counts.of('apply_commit_seconds')]).toEqual([0, 0])
  await throughDoor(db, counts, 'test', (door) => door.apply(facts))
  expect([written('submissions'), written('market_events'), counts.of('apply_commit_seconds')]).toEqual([1, 2, 1])
})

it.each(testDatabases)('what the service shows all along is not read again for being shown, on $name', async ({ open }) => {
  const { db, close } = await open()
  onTestFinished(close)
  await applyAll(db, [trackFact(ACCOUNT, ID)])
  const reads = () => db.read.sql.selectFrom('sync_reads').selectAll().orderBy('read').execute()
  const before = await reads()
  await applyAll(db, [{ kind: 'reach', account: ACCOUNT, submissionId: ID, cause: 'reconcile', unreachableSince: null }])
  expect(await reads()).toEqual(before)
})
