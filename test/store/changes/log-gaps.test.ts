import { describe, expect, it } from 'vitest'
import { findGaps, type LogGap, logEnds } from '../../../src/store/changes/log-gaps.ts'
import { changesAfter } from '../../../src/store/changes/reader.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { openedDb } from '../../push/outbox.ts'
import { testDatabases } from '../../tools/databases.ts'
import { eventFact, uuid, wireEvent } from '../../tools/facts.ts'
import { applyAll } from '../../tools/mirror.ts'

/** All gaps, searched so many rows at a time. */
async function gapsOf(db: Db, limit: number, after = 0): Promise<LogGap[]> {
  const { last_seq } = await logEnds(db.read)
  const all: LogGap[] = []
  for (let at: number | null = after; at !== null; ) {
    const { gaps, next }: { gaps: LogGap[]; next: number | null } = await findGaps(db.read, at, last_seq, limit)
    all.push(...gaps)
    at = next
  }
  return all
}

describe.each(testDatabases)('gaps of the change log on $name', ({ open }) => {
  it('are all found, once, however many rows are looked at at a time', async () => {
    const db = await openedDb(open)
    for (const limit of [1, 5]) expect(await gapsOf(db, limit)).toEqual([])
    await applyAll(
      db,
      Array.from({ length: 16 }, (_, n) => eventFact('acme', uuid(9, 1), wireEvent(n))),
    )
    const seqs = (await changesAfter(db.read, 0, 1_000)).map(({ seq }) => seq)
    expect(seqs).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
    for (const limit of [1, 3, 20, 100]) expect(await gapsOf(db, limit)).toEqual([])
    const gone = [1, 4, 5, 6, 9, 11, 18, 19, 20]
    await db.write('test', (tx) => tx.sql.deleteFrom('changes').where('seq', 'in', gone).execute())
    const holes = [
      { first: 1, last: 1 },
      { first: 4, last: 6 },
      { first: 9, last: 9 },
      { first: 11, last: 11 },
      { first: 18, last: 20 },
    ]
    for (const limit of [1, 2, 3, 7, 11, 12, 100]) expect(await gapsOf(db, limit)).toEqual(holes)
    expect(await gapsOf(db, 3, 4)).toEqual([{ first: 5, last: 6 }, ...holes.slice(2)])
    await db.write('test', (tx) => tx.sql.deleteFrom('changes').execute())
    expect(await gapsOf(db, 5)).toEqual([{ first: 1, last: 20 }])
  })
})
