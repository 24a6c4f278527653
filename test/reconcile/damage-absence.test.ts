import { describe, expect, it } from 'vitest'
import {
  type Entity,
  entities,
  lanes,
  marketEvents,
  quoteHistory,
  quotes,
  sourceOffers,
  threadAttachments,
  threadMessages,
} from '../../src/model/entities.ts'
import { testDatabases } from '../tools/databases.ts'
import { uuid } from '../tools/facts.ts'
import { rowsOf } from '../tools/mirror.ts'
import { ACCOUNT, DamageRig, told } from './damage-rig.ts'

/** A statement that stores a copy of a row under another key. */
function copyOf(entity: Entity, submissionId: string, over: Readonly<Record<string, string>>, where: string): string {
  const columns = Object.keys(entity.columns)
  const values = columns.map((column) => (column in over ? `'${over[column]}'` : `"${column}"`))
  const names = columns.map((column) => `"${column}"`).join(', ')
  return `insert into ${entity.table} (${names}) select ${values.join(', ')} from ${entity.table} where submission_id = '${submissionId}' and ${where} limit 1`
}

describe.each(testDatabases)('rows that the service does not show, on $name', (database) => {
  it('that it never showed are marked, kept, and known from then on', async () => {
    const rig = await DamageRig.open(database)
    const [letter] = (await rowsOf(rig.db, threadMessages)).filter((row) => row['submission_id'] === rig.rich)
    const [lane] = (await rowsOf(rig.db, quotes)).map((row) => String(row['lane_id']))
    await rig.damage(
      copyOf(marketEvents, rig.rich, { event_id: uuid(20, 1) }, '1 = 1'),
      copyOf(threadMessages, rig.rich, { message_id: uuid(20, 2) }, '1 = 1'),
      copyOf(threadAttachments, rig.rich, { position: '7' }, `message_id = '${letter?.['message_id']}'`),
      copyOf(lanes, rig.rich, { lane_id: uuid(20, 3) }, `lane_id = '${lane}'`),
      copyOf(quotes, rig.rich, { lane_id: uuid(20, 3) }, '1 = 1'),
      copyOf(sourceOffers, rig.rich, { presentation_id: 'never' }, '1 = 1'),
      copyOf(quoteHistory, rig.rich, { history_key: 'never' }, '1 = 1'),
    )
    const found = [
      `absent lanes ${uuid(20, 3)}`,
      `absent market_events ${uuid(20, 1)}`,
      'absent quote_history never',
      expect.stringMatching(`^absent quotes ${uuid(20, 3)} `),
      `absent source_offers ${lane} never`,
      `absent thread_attachments ${letter?.['message_id']} 7`,
      `absent thread_messages ${uuid(20, 2)}`,
    ]
    const damaged = await rig.state()
    const dry = await rig.reconcile('--dry-run')
    expect({ code: dry.code, found: told(dry.findings) }).toEqual({ code: 3, found })
    expect(await rig.state()).toEqual(damaged)
    const ended = await rig.reconcile()
    expect({ code: ended.code, err: ended.err, found: told(ended.findings) }).toEqual({ code: 0, err: '', found })
    expect(ended.run).toMatchObject({ absent: 7, repaired: 7, known: 0 })
    for (const entity of entities) expect(await rowsOf(rig.db, entity)).toHaveLength(damaged[entity.table]?.length ?? -1)
    const marked = await rig.state()
    const gone = Object.values(marked).flatMap((rows) => rows.filter((row) => (row['gone_at'] ?? null) !== null))
    expect(gone).toHaveLength(7)
    const next = await rig.reconcile()
    expect(next).toMatchObject({ code: 0, run: { absent: 0, repaired: 0, known: next.findings.length } })
    expect(next.findings.every(({ standing, kind }) => standing && kind === 'absent')).toBe(true)
    expect(told(next.findings)).toEqual(expect.arrayContaining([found[1], found[5], found[6]]))
    expect(await rig.state()).toEqual(marked)
  })

  it('trap 09: any more are marked, and come back when it shows them again', async () => {
    const rig = await DamageRig.open(database)
    const [truth] = rig.sandbox.truth(ACCOUNT, rig.rich)
    const [event, letter] = [String(truth?.events[5]?.id), String(truth?.messages[1]?.id)]
    rig.sandbox.concealItems(ACCOUNT, rig.rich, [event, letter])
    const ended = await rig.reconcile()
    expect(told(ended.findings)).toEqual(expect.arrayContaining([`absent market_events ${event}`, `absent thread_messages ${letter}`]))
    expect(ended).toMatchObject({ code: 0, run: { missing: 0, different: 0, absent: ended.findings.length } })
    const marked = await rig.state()
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { missing: 0, different: 0, absent: 0, known: ended.findings.length } })
    expect(await rig.state()).toEqual(marked)
    rig.sandbox.showItems(ACCOUNT, rig.rich, [event, letter])
    const back = await rig.reconcile()
    expect(told(back.findings)).toEqual(
      expect.arrayContaining([`different market_events ${event} (gone_at)`, `different thread_messages ${letter} (gone_at)`]),
    )
    expect(back).toMatchObject({ code: 0, run: { missing: 0, absent: 0, known: 0, repaired: back.findings.length } })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('because a market was taken back are marked with what hangs on it; its events stay', async () => {
    const rig = await DamageRig.open(database)
    const lane = String((await rowsOf(rig.db, quotes))[0]?.['lane_id'])
    rig.sandbox.hideLane(ACCOUNT, rig.rich, lane)
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: told(ended.findings) }).toEqual({
      code: 0,
      found: [
        `absent lanes ${lane}`,
        ...[1, 2].map((n) => `absent quotes ${lane} ${uuid(10, n)}`),
        `absent source_offers ${lane} p1`,
        'different submissions (raw)',
      ],
    })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { absent: 0 } })
  })
})
