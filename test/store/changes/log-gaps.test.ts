import { describe, expect, it } from 'vitest'
import { findGaps, isGapReported, type LogGap } from '../../../src/store/changes/log-gaps.ts'
import { logEnds } from '../../../src/store/changes/log-info.ts'
import { changesAfter } from '../../../src/store/changes/reader.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import type { RunOptions } from '../../../src/store/schema/reconcile.ts'
import { openedDb } from '../../push/outbox.ts'
import { moment, run } from '../../reconcile/report/sample.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { eventFacts, uuid } from '../../tools/observations.ts'

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
    await applyAll(db, eventFacts('acme', uuid(9, 1), 16))
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

  it('are known when an earlier run reported them, except as new in a dry run', async () => {
    const db = await openedDb(open)
    const [lookedRun, realRun, ownRun] = [uuid(8, 1), uuid(8, 2), uuid(8, 3)]
    await noteGap(db, lookedRun, { dry_run: true }, { first: 4, last: 6 })
    expect(await isGapReported(db.read, { first: 4, last: 6 }, ownRun)).toBe(false)
    await noteGap(db, realRun, {}, { first: 4, last: 6 })
    expect(await isGapReported(db.read, { first: 4, last: 6 }, realRun)).toBe(false)
    expect(await isGapReported(db.read, { first: 4, last: 6 }, ownRun)).toBe(true)
    expect(await isGapReported(db.read, { first: 5, last: 6 }, ownRun)).toBe(true)
    expect(await isGapReported(db.read, { first: 3, last: 6 }, ownRun)).toBe(false)
    expect(await isGapReported(db.read, { first: 4, last: 7 }, ownRun)).toBe(false)
    expect(await isGapReported(db.read, null, ownRun)).toBe(false)
  })
})

async function noteGap(db: Db, runId: string, options: RunOptions, { first, last }: LogGap): Promise<void> {
  await db.write('test', async (tx) => {
    await tx.sql
      .insertInto('reconcile_runs')
      .values({ ...run({ run_id: runId }), options: JSON.stringify(options) as never })
      .execute()
    await tx.sql
      .insertInto('reconcile_findings')
      .values({
        run_id: runId,
        finding_no: 1,
        account: 'default',
        submission_id: null,
        kind: 'lost',
        entity: 'changes',
        fields: null,
        entity_id: JSON.stringify([first, last]),
        read: null,
        destination: null,
        seq: last,
        known: false as never,
        repaired_at: null,
        detail: 'gone',
        found_at: moment(40),
      })
      .execute()
  })
}
