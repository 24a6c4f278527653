import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { onSqlite, sqliteDatabase } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { destinationOf, fanAll, stateOf } from '../outbox.ts'
import { startReceiver, takesAll } from '../receiver.ts'
import { PushRig, webhookTo } from '../rig.ts'

const event = (n: number, s = 1) => observedEvent('default', uuid(9, s), wireEvent(n))

async function deleteChanges(rig: PushRig, gone: (seq: number, end: number) => boolean): Promise<number[]> {
  const seqs = await seqsOf(rig)
  const deleted = seqs.filter((seq) => gone(seq, seqs.at(-1) ?? 0))
  await rig.db.write('test', (tx) => tx.sql.deleteFrom('changes').where('seq', 'in', deleted).execute())
  return deleted
}

async function seqsOf(rig: PushRig): Promise<number[]> {
  return (await rig.db.read.sql.selectFrom('changes').select('seq').orderBy('seq').execute()).map(({ seq }) => seq)
}

describe.each(onSqlite)('a hole in the change log, on $name', (database) => {
  it('stops no destination', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver(takesAll)
    const destination = webhookTo(receiver.url)
    await rig.begin(destination)
    await rig.apply([event(1), event(2), event(3), event(4)])
    await deleteChanges(rig, (seq, end) => seq === 1 || seq === 3 || seq >= end - 1)
    rig.start([destination])
    await rig.until('what is left is delivered', async () => receiver.taken.length === (await seqsOf(rig)).length)
    await rig.apply([event(5)])
    await rig.until('what came later is delivered', () => rig.isEmpty())
    expect(receiver.taken.map(({ data }) => data.seq).sort((a, b) => a - b)).toEqual(await seqsOf(rig))
  })

  it('dead-letters a queued change in it, and the next one is sent immediately', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver(takesAll)
    const destination = webhookTo(receiver.url, { scheduleMs: [3_600_000] })
    await rig.begin(destination)
    await rig.apply([event(1), event(2), event(3)])
    await fanAll(rig.db, [{ ...destination, start: 'now' }])
    const [gone] = await deleteChanges(rig, (seq) => seq === 2)
    rig.start([destination])
    await rig.until('nothing waits', () => rig.isEmpty())
    expect(receiver.taken.map(({ data }) => data.seq).sort((a, b) => a - b)).toEqual(await seqsOf(rig))
    const [dead, ...more] = (await rig.rows()).filter(({ state }) => state !== 'delivered')
    expect(more).toEqual([])
    expect(dead).toMatchObject({ seq: gone, state: 'dead', error: expect.stringContaining('deleted from the change log or damaged') })
  })

  it('at the end of the log stops no snapshot', async () => {
    const rig = await PushRig.open(database)
    const all = destinationOf('all', { accounts: ['default'], start: 'snapshot' })
    await rig.apply([event(1)])
    await ensureDestinations(rig.db, [all])
    await rig.apply([event(2)])
    await deleteChanges(rig, (seq, end) => seq === end)
    await fanAll(rig.db, [all])
    expect(await stateOf(rig.db, 'all')).toMatchObject({ snapshot: null })
  })
})

it('a damaged change is a dead letter, and stops no other', async () => {
  const rig = await PushRig.open(sqliteDatabase)
  const receiver = await startReceiver(takesAll)
  const destination = webhookTo(receiver.url, { scheduleMs: [3_600_000] })
  await rig.begin(destination)
  await rig.apply([event(1), event(2), event(3)])
  const events = rig.db.read.sql.selectFrom('changes').select('seq').where('entity', '=', 'market_events').orderBy('seq').limit(1)
  const damaged = (await events.execute()).map(({ seq }) => seq)
  await rig.db.write('test', (tx) => tx.run(sql`update changes set after = '[1]' where seq = ${damaged[0]}`))
  rig.start([destination])
  await rig.until('all is queued, and nothing waits', async () => (await rig.rows()).length === (await seqsOf(rig)).length && rig.isEmpty())
  const dead = (await rig.rows()).filter(({ state }) => state !== 'delivered')
  expect(dead.map(({ seq, state }) => [seq, state])).toEqual(damaged.map((seq) => [seq, 'dead']))
  expect(dead[0]?.error).toContain('deleted from the change log or damaged')
})
