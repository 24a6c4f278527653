import { describe, expect, it } from 'vitest'
import { testDatabases } from '../../tools/databases.ts'
import { countedDestination } from '../../tools/destinations.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { ACCOUNT, destinationOf, fanAll, fanOutOf, openedDb, outboxOf } from '../outbox.ts'

const event = (n: number) => observedEvent(ACCOUNT, uuid(9, 1), wireEvent(n))

describe.each(testDatabases)('a destination whose row was deleted, on $name', ({ open }) => {
  it('continues behind what was queued for it last', async () => {
    const db = await openedDb(open)
    const [ams, other] = [destinationOf('ams', { start: 'now' }), destinationOf('other', { entities: ['lanes'] })]
    const fanOut = fanOutOf(db, [ams, other])
    await fanOut.prepare()
    await applyAll(db, [event(1), event(2)])
    while (await fanOut.step());
    const queued = (await outboxOf(db, 'ams')).length
    await db.write('test', async (tx) => {
      await tx.sql.deleteFrom('sync_destinations').execute()
      await tx.sql.updateTable('sync_outbox').set({ state: 'dead' }).where('seq', '=', 2).execute()
    })
    await applyAll(db, [event(3)])
    while (await fanOut.step());
    const changes = await changesOf(db)
    expect((await outboxOf(db, 'ams')).map(({ seq }) => seq)).toEqual(changes.map(({ seq }) => seq))
    expect(await countedDestination(db.read, 'ams')).toMatchObject({
      cursor: changes.at(-1)?.seq,
      state: 'active',
      dead: 1,
      unknown: 0,
      queued: changes.length - 1,
    })
    expect(changes.length).toBeGreaterThan(queued)
  })

  it('continues there even if many newer rows are queued for another destination', async () => {
    const db = await openedDb(open)
    const [ams, other] = [destinationOf('ams', { start: 'now' }), destinationOf('other')]
    await fanAll(db, [ams, other])
    await applyAll(db, [event(1)])
    await fanAll(db, [ams, other])
    const queued = (await outboxOf(db, 'ams')).length
    await db.write('test', async (tx) => {
      const { outbox_id: _, ...row } = await tx.sql
        .selectFrom('sync_outbox')
        .selectAll()
        .where('destination', '=', 'other')
        .limit(1)
        .executeTakeFirstOrThrow()
      for (let n = 0; n < 22; n++) {
        const rows = Array.from({ length: 500 }, () => row)
        await tx.sql.insertInto('sync_outbox').values(rows).execute()
      }
      await tx.sql.deleteFrom('sync_destinations').where('destination', '=', 'ams').execute()
    })
    await applyAll(db, [event(2)])
    await fanAll(db, [ams])
    const changes = (await changesOf(db)).map(({ seq }) => seq)
    expect((await outboxOf(db, 'ams')).map(({ seq }) => seq)).toEqual(changes)
    expect(changes.length).toBeGreaterThan(queued)
  })

  it('for which nothing is queued begins as the settings say', async () => {
    const db = await openedDb(open)
    await applyAll(db, [event(1)])
    await fanAll(db, [destinationOf('other')])
    const { length } = await changesOf(db)
    await fanAll(db, [destinationOf('now', { start: 'now' }), destinationOf('first', { start: 2 })])
    expect(await countedDestination(db.read, 'now')).toMatchObject({ cursor: length, queued: 0 })
    expect((await outboxOf(db, 'first')).map(({ seq }) => seq)).toEqual(Array.from({ length: length - 2 }, (_, n) => n + 3))
  })
})
