import { describe, expect, it } from 'vitest'
import { documentKeyOf } from '../../../src/model/documents.ts'
import { lanes } from '../../../src/model/entities/lanes.ts'
import { marketEvents } from '../../../src/model/entities/market-events.ts'
import { programAssessments } from '../../../src/model/entities/program-assessments.ts'
import { quoteHistory } from '../../../src/model/entities/quote-history.ts'
import { quotes } from '../../../src/model/entities/quotes.ts'
import { sourceOffers } from '../../../src/model/entities/source-offers.ts'
import { threadAttachments } from '../../../src/model/entities/thread-attachments.ts'
import { threadMessages } from '../../../src/model/entities/thread-messages.ts'
import { entities } from '../../../src/model/entities.ts'
import type { Entity } from '../../../src/model/entity.ts'
import { onSqlite } from '../../tools/databases.ts'
import { rowsOf } from '../../tools/mirror.ts'
import { uuid } from '../../tools/observations.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

function copyOf(entity: Entity, submissionId: string, over: Readonly<Record<string, string>>, where: string): string {
  const columns = Object.keys(entity.columns)
  const values = columns.map((column) => (column in over ? `'${over[column]}'` : `"${column}"`))
  const names = columns.map((column) => `"${column}"`).join(', ')
  return `insert into ${entity.table} (${names}) select ${values.join(', ')} from ${entity.table} where submission_id = '${submissionId}' and ${where} limit 1`
}

/** A dry run finds exactly `found`; a run marks it; the next one changes nothing. @returns both runs. */
async function provesAbsence(rig: DamageRig, found: readonly string[]) {
  const before = await rig.state()
  const dry = await rig.reconcile('--dry-run')
  expect({ code: dry.code, found: findingTexts(dry.findings) }).toEqual({ code: 3, found })
  expect(await rig.state()).toEqual(before)
  const ended = await rig.reconcile()
  expect({ code: ended.code, err: ended.err, found: findingTexts(ended.findings) }).toEqual({ code: 0, err: '', found })
  expect(ended.run).toMatchObject({ repaired: found.length, known: 0 })
  const repaired = await rig.state()
  const next = await rig.reconcile()
  expect({ code: next.code, found: findingTexts(next.findings.filter(({ known }) => !known)) }).toEqual({ code: 0, found: [] })
  expect(await rig.state()).toEqual(repaired)
  return { ended, next }
}

describe.each(onSqlite)('rows that the service does not have, on $name', (database) => {
  it('that it never had are marked, kept, and known afterwards', async () => {
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
    const { ended, next } = await provesAbsence(rig, found)
    expect(ended.run).toMatchObject({ absent: 7 })
    const reads = Object.fromEntries(ended.findings.map(({ entity, read }) => [entity, read]))
    const ofFeeds = { market_events: 'events', thread_attachments: 'thread', thread_messages: 'thread' }
    const ofState = Object.fromEntries(['lanes', 'quote_history', 'quotes', 'source_offers'].map((table) => [table, 'requirements']))
    expect(reads).toEqual({ ...ofFeeds, ...ofState })
    for (const entity of entities) expect(await rowsOf(rig.db, entity)).toHaveLength(damaged[entity.table]?.length ?? -1)
    const marked = await rig.state()
    const gone = Object.values(marked).flatMap((rows) => rows.filter((row) => (row['gone_at'] ?? null) !== null))
    expect(gone).toHaveLength(7)
    expect(next).toMatchObject({ code: 0, run: { absent: 0, repaired: 0, known: next.findings.length } })
    expect(next.findings.every(({ known, kind }) => known && kind === 'absent')).toBe(true)
    expect(findingTexts(next.findings)).toEqual(expect.arrayContaining([found[1], found[5], found[6]]))
  })

  it('trap 09: any longer are marked, and come back with the service', async () => {
    const rig = await DamageRig.open(database)
    const [truth] = rig.sandbox.truth(ACCOUNT, rig.rich)
    const [event, letter] = [String(truth?.events[5]?.id), String(truth?.messages[1]?.id)]
    rig.sandbox.concealItems(ACCOUNT, rig.rich, [event, letter])
    const ended = await rig.reconcile()
    expect(findingTexts(ended.findings)).toEqual([`absent market_events ${event}`, `absent thread_messages ${letter}`])
    expect(ended).toMatchObject({ code: 0, run: { missing: 0, different: 0, absent: ended.findings.length } })
    const marked = await rig.state()
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { missing: 0, different: 0, absent: 0, known: ended.findings.length } })
    expect(await rig.state()).toEqual(marked)
    rig.sandbox.showItems(ACCOUNT, rig.rich, [event, letter])
    const back = await rig.reconcile()
    expect(findingTexts(back.findings)).toEqual(
      expect.arrayContaining([`different market_events ${event} (gone_at)`, `different thread_messages ${letter} (gone_at)`]),
    )
    expect(back).toMatchObject({ code: 0, run: { missing: 0, absent: 0, known: 0, repaired: back.findings.length } })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('an attachment without its message is found, in feeds of any length', async () => {
    const rig = await DamageRig.open(database)
    const ids = [uuid(0, 1), 'ffffffff-ffff-4fff-8fff-ffffffffffff']
    await rig.damage(...ids.map((id) => copyOf(threadAttachments, rig.rich, { message_id: id }, 'position = 0')))
    await provesAbsence(
      rig,
      ids.map((id) => `absent thread_attachments ${id} 0`),
    )
    const many = 1_001
    const copy = copyOf(threadAttachments, rig.rich, { message_id: uuid(30, 1), position: '0' }, 'position = 0').replace(' limit 1', '')
    const numbered = copy.replace(' select ', ` with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many}) select `)
    const first = `message_id = '${rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.messages[0]?.id}'`
    await rig.damage(
      numbered.replace("'0'", 'n.i').replace(' from thread_attachments', ' from thread_attachments, n').concat(` and ${first}`),
    )
    const ended = await rig.reconcile()
    expect(ended).toMatchObject({ code: 0, run: { absent: many, repaired: many, known: ids.length, missing: 0, different: 0 } })
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { absent: 0, repaired: 0, known: many + ids.length } })
  })

  it('records first seen in the future, by a wrong clock, are found', async () => {
    const rig = await DamageRig.open(database)
    const over = { event_id: uuid(20, 1), first_seen_at: '2090-01-01T00:00:00.000000Z' }
    await rig.damage(copyOf(marketEvents, rig.rich, over, '1 = 1'), copyOf(marketEvents, rig.plain, over, '1 = 1'))
    await provesAbsence(
      rig,
      [1, 2].map(() => `absent market_events ${uuid(20, 1)}`),
    )
  })

  it('records moved to an empty id are found, together with the missing ones', async () => {
    const rig = await DamageRig.open(database)
    const [truth] = rig.sandbox.truth(ACCOUNT, rig.rich)
    const [event, letter] = [String(truth?.events[5]?.id), String(truth?.messages[1]?.id)]
    await rig.damage(
      `update market_events set event_id = '' where event_id = '${event}'`,
      `update thread_messages set message_id = '' where message_id = '${letter}'`,
    )
    const found = [
      'absent market_events ',
      'absent thread_messages ',
      `missing market_events ${event}`,
      `missing thread_messages ${letter}`,
    ]
    await provesAbsence(rig, found)
  })

  it('an unknown event creates no lane and no activity', async () => {
    const rig = await DamageRig.open(database)
    const never = { event_id: uuid(20, 1), lane_id: uuid(20, 2), occurred_at: '2030-01-01T00:00:00.000000Z' }
    await rig.damage(copyOf(marketEvents, rig.rich, never, '1 = 1'))
    await provesAbsence(rig, [`absent market_events ${uuid(20, 1)}`])
  })

  it('an event moved to another submission is missing there, gone here, and creates no lane here', async () => {
    const rig = await DamageRig.open(database)
    const event = String(rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.events.at(-1)?.id)
    await rig.damage(`update market_events set submission_id = '${rig.plain}' where event_id = '${event}'`)
    await provesAbsence(rig, [`absent market_events ${event}`, `missing market_events ${event}`])
  })

  it('a lane known from one event is gone with it, and comes back with another', async () => {
    const rig = await DamageRig.open(database)
    const lane_id = uuid(20, 9)
    const event = rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'market_attached', lane_id })
    await rig.command('sync', rig.plain)
    rig.sandbox.concealItems(ACCOUNT, rig.plain, [event.id])
    await provesAbsence(rig, [`absent lanes ${lane_id}`, `absent market_events ${event.id}`])
    rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'declined', lane_id })
    await rig.command('sync', rig.plain)
    expect(await rowsOf(rig.db, lanes)).toContainEqual(expect.objectContaining({ lane_id, gone_at: null, status: 'declined' }))
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { different: 0, missing: 0, absent: 0 } })
  })

  it('of a withdrawn market are marked with their children, need no attention, and keep their events', async () => {
    const rig = await DamageRig.open(database)
    const lane = String((await rowsOf(rig.db, quotes))[0]?.['lane_id'])
    const session = rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.requirements.carrier_api_sessions[0]?.session_id
    const program = (await rowsOf(rig.db, programAssessments)).find((row) => row['lane_id'] === lane)?.['program_key']
    rig.sandbox.world.submission(ACCOUNT, rig.rich).hideLane(lane)
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({
      code: 0,
      found: [
        `moved application_answers ${session} insured.name`,
        'moved application_workspaces',
        `moved applications ${session}`,
        `moved carrier_api_sessions ${session}`,
        `moved documents ${documentKeyOf('/documents/1', 'p1')}`,
        `moved lanes ${lane}`,
        expect.stringMatching(/^moved market_readiness [0-9a-f]{64}$/),
        'moved outstanding_items question:years_in_business',
        `moved program_assessments ${lane} ${program}`,
        ...[1, 2].map((n) => `moved quotes ${lane} ${uuid(10, n)}`),
        ...['applicant.fein', 'signed_application'].map((key) => `moved requirement_items ${lane} ${program} ${key}`),
        `moved source_offers ${lane} p1`,
        'moved submissions',
      ],
    })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { absent: 0 } })
  })
})
