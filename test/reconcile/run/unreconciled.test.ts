import { describe, expect, it } from 'vitest'
import { quotes } from '../../../src/model/entities/quotes.ts'
import { detailReads, idReads, readKinds } from '../../../src/model/reads.ts'
import { onSqlite, sqliteDatabase } from '../../tools/databases.ts'
import { hastyClock } from '../../tools/hasty-clock.ts'
import { rowsOf } from '../../tools/mirror.ts'
import { until } from '../../tools/until.ts'
import { ACCOUNT, DamageRig, findingTexts } from '../damage/rig.ts'
import { RunRig } from '../rig.ts'

const MALFORMED = { type: 7 as never }

async function proofOf(rig: Pick<DamageRig, 'db'>, submissionId: string) {
  const query = rig.db.read.sql.selectFrom('sync_reconciled').select(['run_id', 'reconciled_at', 'visited_at'])
  return await query.where('submission_id', '=', submissionId).executeTakeFirst()
}

describe.each(onSqlite)('unchecked data reconciles nothing, on $name', (database) => {
  it('a malformed item is unreadable in each run, even if polling stored it before', async () => {
    const rig = await DamageRig.open(database)
    const event = rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
    rig.sandbox.world.submission(ACCOUNT, rig.plain).events.amend(event.id, MALFORMED)
    await rig.command('sync', rig.plain)
    expect(await rig.db.read.sql.selectFrom('sync_unreadable').select('read').execute()).toEqual([{ read: 'events' }])
    for (let n = 0; n < 2; n += 1) {
      const ended = await rig.reconcile()
      expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({ code: 1, found: ['unreadable events'] })
      expect(ended.run).toMatchObject({ unreadable: 1, known: 0, exit_code: 1 })
      expect(await proofOf(rig, rig.plain)).toMatchObject({ reconciled_at: null })
      expect((await proofOf(rig, rig.rich))?.reconciled_at).not.toBeNull()
    }
  })

  it.each(readKinds)('a submission with an unreadable %s is not reconciled, others are', async (operation) => {
    const rig = await RunRig.open(database, 2)
    const [failing = '', other = ''] = rig.ids
    rig.sandbox.faults.add({ kind: 'status', status: 500, operation, submissionId: failing })
    expect(await rig.reconcile({}, { clock: hastyClock })).toMatchObject({ state: 'done', submissions_done: 2, unreadable: 1 })
    expect(await proofOf(rig, failing)).toMatchObject({ reconciled_at: null })
    expect((await proofOf(rig, other))?.reconciled_at).not.toBeNull()
  })

  it.each(idReads)('a known %s that is briefly not found is unreadable, not gone', async (read) => {
    const rig = await DamageRig.open(database)
    const lane = rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.requirements.rail?.lanes[0]?.submission_market_id ?? ''
    rig.sandbox.patchLane(ACCOUNT, rig.rich, lane, { rail: { status: 'bound', status_label: 'Bound', bound: true, chip: 'bound' } })
    rig.sandbox.addEvent(ACCOUNT, rig.rich, { type: 'bound', lane_id: lane }, { quiet: true })
    await rig.reconcile()
    await rig.command('sync', rig.rich)
    const [before, earlier] = [await rig.state(), await proofOf(rig, rig.rich)]
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: read })
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({ code: 1, found: [`unreadable ${read}`] })
    expect(ended.findings[0]?.detail).toContain('was read before but is not found')
    expect(await rig.state()).toEqual(before)
    expect(await proofOf(rig, rig.rich)).toMatchObject({ reconciled_at: earlier?.reconciled_at })
    // Confirmed by polling.
    await rig.damage(`update sync_reads set not_found = 3 where read = '${read}'`)
    expect(findingTexts((await rig.reconcile()).findings)).toContainEqual(expect.stringMatching(/^absent /))
  })

  it.each(detailReads)(
    'a submission whose %s is answered 401 is not reconciled: that is about the token; by 403 the service declines it',
    async (operation) => {
      const rig = await RunRig.open(database, 1)
      const [id = ''] = rig.ids
      rig.sandbox.faults.add({ kind: 'status', status: 401, operation, submissionId: id })
      expect(await rig.reconcile({}, { clock: hastyClock })).toMatchObject({ state: 'done', unreadable: 1, exit_code: 1 })
      expect(await proofOf(rig, id)).toMatchObject({ reconciled_at: null })
      rig.sandbox.faults.set([])
      rig.sandbox.faults.add({ kind: 'status', status: 403, operation, submissionId: id })
      expect(await rig.reconcile({}, { clock: hastyClock })).toMatchObject({ state: 'done', unreadable: 0, exit_code: 0 })
      expect((await proofOf(rig, id))?.reconciled_at).not.toBeNull()
    },
  )

  it('an item that became malformed is unreadable, and not marked as gone', async () => {
    const rig = await DamageRig.open(database)
    const [truth] = rig.sandbox.truth(ACCOUNT, rig.rich)
    const [event, letter] = [String(truth?.events[5]?.id), String(truth?.messages[1]?.id)]
    rig.sandbox.world.submission(ACCOUNT, rig.rich).events.amend(event, MALFORMED)
    rig.sandbox.world.submission(ACCOUNT, rig.rich).thread.amend(letter, { body_text: 7 as never })
    const before = await rig.state()
    const evidence = rig.db.read.sql.selectFrom('sync_unreadable').select('read').orderBy('read')
    const { findings: dry } = await rig.reconcile('--dry-run')
    expect(findingTexts(dry)).toEqual(['unreadable events', 'unreadable thread'])
    expect(await evidence.execute()).toEqual([])
    for (const { detail } of dry) expect(detail).toMatch(/^1 malformed item could not be compared$/)
    const ended = await rig.reconcile()
    for (const { detail } of ended.findings) expect(detail).toMatch(/ could not be compared; stored in sync_unreadable$/)
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({
      code: 1,
      found: ['unreadable events', 'unreadable thread'],
    })
    expect(await evidence.execute()).toEqual([{ read: 'events' }, { read: 'thread' }])
    expect(await rig.state()).toEqual(before)
  })

  it('two quotes with the same id are one row and one unreadable item, and the submission is not reconciled', async () => {
    const rig = await DamageRig.open(database)
    const [lane] = rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.requirements.rail?.lanes ?? []
    const [quote, ...others] = lane?.quotes ?? []
    if (lane === undefined || quote === undefined) throw new Error('the submission has no quote')
    const twice = [{ ...quote, total_cents: 1 }, quote, ...others]
    rig.sandbox.patchLane(ACCOUNT, rig.rich, lane.submission_market_id, { rail: { quotes: twice } })
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toMatchObject({
      code: 1,
      found: expect.arrayContaining(['unreadable requirements']),
    })
    const [kept] = await rig.db.read.sql.selectFrom('sync_unreadable').select('raw').execute()
    expect(JSON.parse(kept?.raw ?? '')).toMatchObject({ quote_id: quote.quote_id, total_cents: 1 })
    expect(await rowsOf(rig.db, quotes)).toContainEqual(
      expect.objectContaining({ quote_id: quote.quote_id, total_cents: quote.total_cents, gone_at: null }),
    )
    expect(await proofOf(rig, rig.rich)).toMatchObject({ reconciled_at: null })
  })

  it('parts missing from the requirements view are known findings, and the submission is reconciled', async () => {
    const rig = await DamageRig.open(database)
    const completeness = rig.db.read.sql
      .selectFrom('completeness')
      .select(['reconciled_at', 'unconfirmed'])
      .where('submission_id', '=', rig.rich)
    rig.sandbox.setRail(ACCOUNT, rig.rich, { available: false })
    const ended = await rig.reconcile()
    const left = ended.findings.filter(({ known }) => known)
    expect(left.map(({ kind, read, entity }) => [kind, read, entity])).toEqual([
      ['unreadable', 'requirements', 'lanes'],
      ['unreadable', 'requirements', 'quote_history'],
      ['unreadable', 'requirements', 'program_assessments'],
    ])
    for (const { detail } of left) expect(detail).toMatch(/^the answer had no .*, so nothing confirms .*; last read: \d{4}-/)
    expect([ended.code, ended.run.known, ended.run.unreadable]).toEqual([0, 3, 0])
    expect(await completeness.execute()).toEqual([{ reconciled_at: expect.any(String), unconfirmed: 'rail, quote_history, assessment' }])
    rig.sandbox.setRail(ACCOUNT, rig.rich, { available: true })
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { known: 0 } })
    expect(await completeness.execute()).toEqual([{ reconciled_at: expect.any(String), unconfirmed: null }])
  })

  it('attachments that are not a list are not marked as gone', async () => {
    const rig = await DamageRig.open(database)
    const letter = String(rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.messages[1]?.id)
    rig.sandbox.world.submission(ACCOUNT, rig.rich).thread.amend(letter, { attachments: 'none' as never })
    const before = await rig.state()
    const ended = await rig.reconcile()
    expect(findingTexts(ended.findings).filter((text) => text.startsWith('absent'))).toEqual([])
    expect((await rig.state())['thread_attachments']).toEqual(before['thread_attachments'])
  })

  it('without state nothing is reconciled; a dry run stores no visit, and the last reconciliation stays', async () => {
    const rig = await DamageRig.open(database)
    expect((await rig.reconcile('--dry-run')).code).toBe(0)
    expect(await proofOf(rig, rig.plain)).toBeUndefined()
    await rig.reconcile('--no-state')
    expect(await proofOf(rig, rig.plain)).toMatchObject({ reconciled_at: null })
    const { run } = await rig.reconcile()
    const proof = await proofOf(rig, rig.plain)
    expect(proof).toMatchObject({ run_id: run.run_id, reconciled_at: expect.any(String) })
    expect((await rig.reconcile('--no-state')).code).toBe(0)
    const after = await proofOf(rig, rig.plain)
    expect({ ...after, visited_at: null }).toEqual({ ...proof, visited_at: null })
    expect(String(after?.visited_at) > String(proof?.visited_at)).toBe(true)
    await rig.damage(`update market_events set detail = 'wrong' where submission_id = '${rig.plain}'`)
    expect((await rig.reconcile('--dry-run')).code).toBe(3)
    expect(await proofOf(rig, rig.plain)).toEqual(after)
    const completeness = rig.db.read.sql.selectFrom('completeness').select(['reconciled_at', 'reconciled_by'])
    expect(await completeness.where('submission_id', '=', rig.plain).executeTakeFirst()).toEqual({
      reconciled_at: proof?.reconciled_at,
      reconciled_by: run.run_id,
    })
  })

  it('derived values follow repaired pages, even if later reads fail', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `delete from market_events where submission_id = '${rig.rich}'`,
      `update submissions set last_event_at = null where submission_id = '${rig.rich}'`,
    )
    rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'requirements', submissionId: rig.rich })
    rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'thread', submissionId: rig.rich })
    rig.sandbox.faults.add({ kind: 'invalid_cursor', operation: 'events', submissionId: rig.rich })
    const ended = await rig.reconcile()
    expect(ended.code).toBe(1)
    expect(findingTexts(ended.findings).filter((text) => text.startsWith('unreadable'))).toHaveLength(3)
    const events = rig.db.read.sql.selectFrom('market_events').select('occurred_at').where('submission_id', '=', rig.rich)
    const newest = await events.orderBy('occurred_at', 'desc').limit(1).executeTakeFirst()
    expect(newest).toBeDefined()
    const row = rig.db.read.sql.selectFrom('submissions').select('last_event_at').where('submission_id', '=', rig.rich)
    expect(await row.executeTakeFirst()).toEqual({ last_event_at: newest?.occurred_at })
  })

  it('a resumed run compares nothing twice, even without results', async () => {
    const rig = await RunRig.open(database, 12)
    await rig.reconcile()
    rig.sandbox.faults.add({ kind: 'slow', ms: 40, operation: 'events' })
    const from = rig.sandbox.activity.requests.length
    const stop = new AbortController()
    const begun = rig.work(await rig.claim({ no_state: true }), { concurrency: 1, onAbort: 'release' }, stop.signal)
    begun.catch(() => undefined)
    const read = () => rig.sandbox.activity.requests.slice(from).filter(({ operation }) => operation === 'events').length
    await until('half of them were read', () => read() > 6)
    stop.abort()
    await expect(begun).rejects.toThrow(/aborted/)
    const claim = await rig.claim({ no_state: true })
    expect(claim).toMatchObject({ resumed: true })
    expect(claim.run.submissions_done).toBeGreaterThan(0)
    expect(await rig.work(claim)).toMatchObject({ state: 'done', submissions_total: 12, submissions_done: 12 })
  })

  it('a resumed dry run starts again, and reports nothing twice', async () => {
    const rig = await RunRig.open(database, 12)
    rig.sandbox.faults.add({ kind: 'slow', ms: 40, operation: 'events' })
    const stop = new AbortController()
    const begun = rig.work(await rig.claim({ dry_run: true }), { concurrency: 1, onAbort: 'release' }, stop.signal)
    begun.catch(() => undefined)
    const found = () => rig.db.read.sql.selectFrom('reconcile_findings').select(['entity', 'entity_id', 'submission_id']).execute()
    await until('half of it was found', async () => (await found()).length > 6)
    stop.abort()
    await expect(begun).rejects.toThrow(/aborted/)
    rig.sandbox.faults.set([])
    const from = rig.sandbox.activity.requests.length
    const claim = await rig.claim({ dry_run: true })
    expect(claim).toMatchObject({ resumed: true, run: { submissions_done: 0, missing: 0 } })
    const run = await rig.work(claim)
    expect(run).toMatchObject({ state: 'done', exit_code: 3, submissions_total: 12, submissions_done: 12 })
    expect(new Set(rig.asked(from)).size).toBe(12)
    const all = await found()
    expect(all).toHaveLength(run.missing + run.different)
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(all.length)
  })
})

// Postgres can't store such text.
it('a raw object that is not JSON is repaired', async () => {
  const rig = await DamageRig.open(sqliteDatabase)
  const letter = String(rig.sandbox.truth(ACCOUNT, rig.plain)[0]?.messages[0]?.id)
  const event = String(rig.sandbox.truth(ACCOUNT, rig.plain)[0]?.events[0]?.id)
  const before = await rig.state()
  await rig.damage(
    ...['market_events', 'thread_messages', 'submissions'].map(
      (table) => `update ${table} set raw = '{"id":"tor' where submission_id = '${rig.plain}'`,
    ),
  )
  const ended = await rig.reconcile()
  expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({
    code: 0,
    found: [`different market_events ${event} (raw)`, 'different submissions (raw)', `different thread_messages ${letter} (raw)`],
  })
  expect(await rig.state()).toEqual(before)
  expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
})
