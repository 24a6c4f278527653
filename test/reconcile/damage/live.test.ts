import { describe, expect, it, onTestFinished } from 'vitest'
import { json, runHere } from '../../app/run.ts'
import { type ServeProcess, startServe } from '../../e2e/serve.ts'
import { postSigned } from '../../e2e/signed.ts'
import { onSqlite } from '../../tools/databases.ts'
import { changesOf } from '../../tools/mirror.ts'
import { uuid } from '../../tools/observations.ts'
import { until } from '../../tools/until.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

async function live(rig: DamageRig): Promise<ServeProcess> {
  const serve = await startServe({ ...rig.env, POLL_ACTIVE: '1h', POLL_QUIET: '1h' })
  onTestFinished(async () => void (await serve.stop()))
  return serve
}

function move({ sandbox, rich, plain }: DamageRig): void {
  const lane = sandbox.truth(ACCOUNT, rich)[0]?.requirements.rail?.lanes[0]?.submission_market_id ?? ''
  const quotes = [1, 3].map((n) => ({
    quote_id: uuid(10, n),
    premium_display: '$900',
    total_cents: 90_000,
    lines: ['auto'],
    is_revision: false,
  }))
  sandbox.patchLane(ACCOUNT, rich, lane, { rail: { quotes, status: 'bound', status_label: 'Bound', bound: true, chip: 'bound' } })
  sandbox.setFacts(ACCOUNT, plain, { state: 'CA' })
  for (const id of [rich, plain]) {
    sandbox.addEvent(ACCOUNT, id, { type: 'quoted' }, { quiet: true })
    const attachments = [{ name: 'quote.pdf', download_path: '/broker/finalized-documents/9/pdf' }]
    sandbox.addMessage(ACCOUNT, id, { body_text: 'The quote is 900.', subject: 'Quote', attachments }, { quiet: true })
  }
}

describe.each(onSqlite)('with a running serve, on $name', (database) => {
  it('trap 32: only a run corrects a wrong signed delivery', async () => {
    const rig = await DamageRig.open(database)
    const serve = await live(rig)
    const secret = rig.sandbox.account(ACCOUNT).webhookSecret
    const event = rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'declined', detail: 'Too old a roof' }, { quiet: true })
    const message = rig.sandbox.addMessage(ACCOUNT, rig.plain, { body_text: 'The quote is 900.', subject: 'Quote' }, { quiet: true })
    const wrong = [
      { type: 'submission.events', submission_id: rig.plain, events: [{ ...event, detail: 'No reason given' }] },
      { type: 'submission.message', submission_id: rig.plain, message: { ...message, body_text: 'The quote is 90.' } },
    ]
    const deliver = async () => {
      for (const body of wrong)
        expect(await postSigned(`${serve.receiver}/webhooks`, secret, JSON.stringify(body))).toMatchObject({ status: 204 })
    }
    const conflicts = async () => (await rig.db.read.sql.selectFrom('sync_conflicts').select('record_id').execute()).length
    // Applies the deliveries, then conflicting feeds: the first value is kept.
    for (const operation of ['events', 'thread'] as const) rig.sandbox.faults.add({ kind: 'status', status: 503, operation })
    await deliver()
    const contradicting = [`market_events ${event.id}: detail`, `thread_messages ${message.id}: body_text`]
    await until('both deliveries are applied', async () => (await rig.differences()).join() === contradicting.join())
    rig.sandbox.faults.set([])
    await until('both contradictions are noted', async () => (await conflicts()) === 2)
    expect(await rig.differences()).toEqual(contradicting)
    const ended = await rig.reconcile()
    expect({ code: ended.code, err: ended.err, found: findingTexts(ended.findings) }).toEqual({
      code: 0,
      err: '',
      found: [`different market_events ${event.id} (detail)`, `different thread_messages ${message.id} (body_text)`],
    })
    expect(await rig.differences()).toEqual([])
    const repairs = (await changesOf(rig.db)).filter(({ cause }) => cause === 'reconcile')
    expect(repairs.map(({ entity, operation, before }) => [entity, operation, before])).toEqual([
      ['market_events', 'update', { detail: 'No reason given' }],
      ['thread_messages', 'update', { body_text: 'The quote is 90.' }],
    ])
    // The same deliveries now conflict with the right values.
    await deliver()
    await until('they are noted as well', async () => (await conflicts()) === 4)
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('polling replaces a refused cursor, and a run finds records behind a valid one', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `delete from market_events where submission_id = '${rig.rich}' and event_id in (select event_id from market_events where submission_id = '${rig.rich}' order by occurred_at limit 20)`,
      `update sync_reads set cursor = 'nonsense' where submission_id = '${rig.plain}'`,
    )
    const serve = await live(rig)
    const secret = rig.sandbox.account(ACCOUNT).webhookSecret
    for (const submission_id of [rig.rich, rig.plain]) {
      rig.sandbox.addEvent(ACCOUNT, submission_id, { type: 'status_changed' }, { quiet: true })
      await postSigned(`${serve.receiver}/webhooks`, secret, JSON.stringify({ type: 'submission.events', submission_id }))
    }
    await until('polling has brought what is new, and no more', async () => (await rig.differences()).length === 20)
    // Polling finds nothing behind its cursor before a full re-read.
    const ended = await rig.reconcile()
    expect(ended).toMatchObject({ code: 0, run: { missing: 20, different: 0, absent: 0, repaired: 20 } })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it.each([[['--dry-run']], [[]]])('changes since the last read need no attention: reconcile %j', async (options) => {
    const rig = await DamageRig.open(database)
    move(rig)
    const ended = await rig.reconcile(...options)
    expect(ended).toMatchObject({ code: 0, run: { missing: 0, different: 0, absent: 0, unreadable: 0, repaired: 0 } })
    const [kinds, tables] = [new Set(ended.findings.map(({ kind }) => kind)), new Set(ended.findings.map(({ entity }) => entity))]
    expect(kinds).toEqual(new Set(['moved']))
    for (const table of ['market_events', 'thread_messages', 'thread_attachments', 'documents', 'lanes', 'quotes', 'submissions'])
      expect(tables).toContain(table)
    const { issues } = json<{ issues: { kind: string }[] }>(await runHere(['status', '--json'], rig.env))
    expect(issues.map(({ kind }) => kind)).not.toContain('reconcile_findings')
  })

  it('changes since the last read hide no damage', async () => {
    const rig = await DamageRig.open(database)
    const here = `submission_id = '${rig.rich}'`
    const deleted = ['quotes', 'thread_attachments', 'market_events']
    await rig.damage(
      `update lanes set status = 'lost' where ${here}`,
      `update submissions set insured_name = 'Another Insured' where ${here}`,
      ...deleted.map((table) => `delete from ${table} where ${here}`),
    )
    move(rig)
    const found = (await rig.reconcile('--dry-run')).findings.filter(({ kind }) => kind !== 'moved')
    const tablesOf = (wanted: string) => new Set(found.filter(({ kind }) => kind === wanted).map(({ entity }) => entity))
    expect(tablesOf('missing')).toEqual(new Set(deleted))
    for (const table of ['lanes', 'submissions']) expect(tablesOf('different')).toContain(table)
  })
})
