import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { findWrongEnds, repairEnds } from '../../../src/store/changes/log-ends.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import { logEnds } from '../../../src/store/changes/log-info.ts'
import { changesAfter } from '../../../src/store/changes/reader.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { destinationOf, fanAll, openedDb } from '../../push/outbox.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

const event = (n: number) => observedEvent('acme', uuid(9, 1), wireEvent(n))

async function damage(db: Db, ...statements: readonly string[]): Promise<void> {
  await db.write('test', async (tx) => {
    for (const statement of statements) await tx.run(sql.raw(statement))
  })
}

async function seqsOf(db: Db): Promise<number[]> {
  return (await changesAfter(db.read, 0, 1_000)).map(({ seq }) => seq)
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

describe.each(testDatabases)('the ends of the change log on $name', ({ open }) => {
  it('that were set back stop nothing: the numbering continues after the newest change', async () => {
    const db = await openedDb(open)
    await applyAll(db, [event(1), event(2)])
    const { last_seq } = await logEnds(db.read)
    await damage(db, 'update mirror_info set last_seq = last_seq - 2')
    await applyAll(db, [event(3)])
    expect(await findWrongEnds(db.read)).toEqual([])
    const { last_seq: next } = await logEnds(db.read)
    expect(next).toBeGreaterThan(last_seq)
    expect(await seqsOf(db)).toEqual(upTo(next))
    await damage(db, 'delete from changes', `update mirror_info set first_seq = ${next + 1}, last_seq = 0`)
    await applyAll(db, [event(4)])
    expect((await seqsOf(db))[0]).toBe(next + 1)
  })

  it('are corrected from the rows, once', async () => {
    const db = await openedDb(open)
    await applyAll(db, [event(1), event(2)])
    const { last_seq } = await logEnds(db.read)
    expect(await repairEnds(db)).toEqual([])
    await damage(db, 'delete from changes where seq = 1', 'update mirror_info set first_seq = 5, last_seq = 2')
    const misstated = [
      { column: 'first_seq', stored: 5, actual: 2 },
      { column: 'last_seq', stored: 2, actual: last_seq },
    ]
    expect(await findWrongEnds(db.read)).toEqual(misstated)
    expect(await Promise.all([repairEnds(db), repairEnds(db)]).then((each) => each.flat())).toEqual(misstated)
    expect(await logEnds(db.read)).toEqual({ first_seq: 2, last_seq })
    await damage(db, 'delete from changes', `update mirror_info set first_seq = 17, last_seq = 3`)
    expect(await repairEnds(db)).toEqual([{ column: 'last_seq', stored: 3, actual: 16 }])
  })

  it('begin no new epoch, because no change that a destination got is missing', async () => {
    const db = await openedDb(open)
    await checkLogEpoch(db)
    await applyAll(db, [event(1)])
    await fanAll(db, [destinationOf('ams')])
    await damage(db, 'update mirror_info set last_seq = last_seq - 1')
    expect(await checkLogEpoch(db)).toBeNull()
  })
})
