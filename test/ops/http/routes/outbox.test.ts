import { beforeEach, describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../../../src/apply/apply.ts'
import { silentObserver } from '../../../../src/base/observer.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import type { Observation } from '../../../../src/model/observations.ts'
import { setDestinationState } from '../../../../src/store/outbox/destinations.ts'
import { json, runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { changesOf } from '../../../tools/mirror.ts'
import { observedMessage, wireMessage } from '../../../tools/observations.ts'
import { fanOut, tryFirst } from '../../cli/push-rig.ts'
import { adminRigForEach, refusal } from '../rig.ts'

const SUBMISSION = 'bbbbbbbb-0000-4000-8000-000000000001'

interface Row {
  readonly outbox_id: number
  readonly message_id: string
  readonly destination: string
  readonly state: string
}
interface Page<T = Row> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

describe.each(testDatabases)('destinations and their outbox by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)
  beforeEach(async () => {
    const facts: Observation[] = ['One.', 'Two.'].map((body_text, n) =>
      observedMessage('default', SUBMISSION, wireMessage(n, { body_text })),
    )
    await inApplyTransaction(rig.db, silentObserver, 'test', (transaction) => transaction.apply(facts))
    await fanOut(rig.db, rig.config.destinations)
  })

  const listed = async (query = '') => (await rig.ask<Page>('GET', `/outbox${query}`)).json
  const states = async (query: string) => (await listed(query)).items.map(({ state }) => state)

  it('lists the outbox page by page, and shows a row, like the commands', async () => {
    const all = await listed()
    expect(all).toEqual(json(await runHere(['outbox', 'list', '--json'], rig.env)))
    expect(all.items).toHaveLength(4)
    expect((await listed('?state=waiting')).items).toEqual(all.items)
    for (const none of ['retrying', 'unmapped', 'held']) expect((await listed(`?state=${none}`)).items).toEqual([])
    const first = await listed('?limit=3')
    expect(await listed(`?limit=3&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[3]], next_cursor: null })
    expect((await listed(`?destination=ams&submission_id=${SUBMISSION}&state=ready&since=1h`)).items).toHaveLength(2)
    expect((await listed('?until=1h')).items).toEqual([])
    const [row] = all.items
    const shown = await rig.ask<Page>('GET', `/outbox/${row?.message_id}`)
    expect(shown.json).toEqual(json(await runHere(['outbox', 'show', String(row?.message_id), '--json'], rig.env)))
    expect(shown.json.items.map(({ destination }) => destination).sort()).toEqual(['ams', 'mapped'])
    expect((await rig.ask<Page>('GET', `/outbox/${row?.outbox_id}`)).json.items).toEqual([row])
    for (const path of ['', '/exchange'])
      expect((await rig.ask('GET', `/outbox/${row?.message_id?.slice(0, 12)}${path}`)).status, path).toBe(200)
    expect((await rig.ask('POST', '/outbox/retry', { body: { ids: [row?.message_id?.slice(0, 12)] } })).status).toBe(404)
    expect(await rig.ask('GET', '/outbox/nothing')).toMatchObject(refusal(404, 'the outbox has no change nothing'))
  })

  it('counts in a dry run without changes', async () => {
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    const would = async (what: string, body: object) =>
      (await rig.ask('POST', `/outbox/${what}`, { body: { ...body, dry_run: true } })).json
    expect(await would('retry', { destination: 'ams' })).toEqual({ changed: 1, under_way: 0 })
    expect(await would('skip', { destination: 'ams', state: 'ready' })).toEqual({ changed: 1, under_way: 0 })
    const [dead] = (await listed('?state=dead')).items
    expect(await would('retry', { ids: [String(dead?.outbox_id)] })).toEqual({ changed: 1, under_way: 0 })
    expect((await rig.ask('POST', '/outbox/retry', { body: { dry_run: true } })).status).toBe(400)
    expect([await rig.notes(), (await listed('?state=dead')).items]).toEqual([[], [dead]])
  })

  it('groups failures by reason, for viewers without the answer, and lists the failures of a reason', async () => {
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    const set = (error: string, seq: 'min' | 'max') =>
      rig.db.write('test', async (tx) => {
        const rows = tx.sql.selectFrom('sync_outbox').where('state', '=', 'dead')
        const { at } = await rows.select(({ fn }) => fn[seq]<number>('outbox_id').as('at')).executeTakeFirstOrThrow()
        await tx.sql.updateTable('sync_outbox').set({ error }).where('outbox_id', '=', at).execute()
      })
    await set('answered 422 (note 17 "One." of jane@acme.test is refused)', 'min')
    await set('answered 422 (note 18 "Two." of joe@acme.test is refused)', 'max')
    const [viewer, operator] = ['viewer-0123456789-abc', 'operator:0123456789-abc']
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `v:${viewer}:viewer o:${operator}:operator` })
    const of = async (token: string, path: string) => (await rig.ask<Page<{ reason: string }>>('GET', path, { token })).json.items
    const common = { state: 'dead', status: 422, changes: 2, submissions: 1, is_complete: true }
    const reasons = { [viewer]: 'answered 422 …', [operator]: 'answered 422 (note … "…" of … is refused)' }
    for (const [token, reason] of Object.entries(reasons)) {
      expect(await of(token, '/destinations/ams/failures')).toMatchObject([{ ...common, reason }])
      expect(await of(token, `/outbox?destination=ams&state=dead&reason=${encodeURIComponent(reason)}`)).toHaveLength(2)
    }
    // A search must not reveal masked values.
    expect(await of(viewer, '/outbox?text=refused')).toEqual([])
    expect(await of(viewer, `/outbox?reason=${encodeURIComponent(reasons[operator] ?? '')}`)).toEqual([])
    expect(await of(operator, '/outbox?text=refused')).toHaveLength(2)
    expect(await of(viewer, '/destinations/mapped/failures')).toEqual([])
    expect((await rig.ask('GET', '/destinations/nobody/failures', { token: viewer })).status).toBe(404)
  })

  it('shows request and answer of a destination without secrets and personal values', async () => {
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    const error = 'answered 422: "One." of jane@acme.test is no note'
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set({ error }).where('state', '=', 'dead').execute())
    const [dead] = (await listed('?state=dead')).items
    expect(dead).toMatchObject({ error: 'answered 422 ••••' })
    const { json: shown, text } = await rig.ask<Page<Record<string, unknown>>>('GET', `/outbox/${dead?.outbox_id}/exchange`)
    expect(shown.items).toMatchObject([
      {
        outbox_id: dead?.outbox_id,
        destination: 'ams',
        attempts: expect.any(Number),
        request: { kind: 'webhook', method: 'POST', url: rig.target.url, entity: 'thread_messages', operation: 'insert', before: null },
        answer: { at: expect.any(String), text: 'answered 422: "••••" of •••• is no note' },
      },
    ])
    expect(shown.items[0]).toMatchObject({ request: { after: { submission_id: SUBMISSION } } })
    expect(text).not.toMatch(/One\.|Two\.|whsec_/)
    const whole = await rig.ask<Page<Record<string, unknown>>>('GET', `/outbox/${dead?.outbox_id}`)
    expect(whole.json.items).toMatchObject([{ error }])
    const timeline = await rig.ask<Page<Record<string, unknown>>>('GET', `/submissions/default/${SUBMISSION}/timeline?kinds=push`)
    expect(timeline.json.items).toContainEqual(expect.objectContaining({ state: 'dead', error: 'answered 422 ••••' }))
    expect(timeline.text).not.toMatch(/One\.|Two\./)
    const shownTo = { who: 'alice', action: 'outbox.show', target: null, detail: { changes: [dead?.outbox_id] }, outcome: 'done' }
    expect(await rig.notes()).toEqual([shownTo, shownTo])
    const [waiting] = (await listed('?state=waiting&destination=mapped')).items
    const before = await rig.ask<Page<Record<string, unknown>>>('GET', `/outbox/${waiting?.outbox_id}/exchange`)
    expect(before.json.items).toMatchObject([{ destination: 'mapped', attempts: 0, answer: null }])
    expect((await rig.ask('GET', '/outbox/nothing/exchange')).status).toBe(404)
  })

  it('shows a snapshot row itself, and masks its values in the answer, not the change with its number', async () => {
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    const [dead] = (await listed('?state=dead')).items
    const other = (await changesOf(rig.db)).find(({ entity }) => entity === 'submissions')
    const changed_at = '2026-01-20T12:00:00.000000Z'
    const snapshot = JSON.stringify({
      changed_at,
      after: { submission_id: SUBMISSION, message_id: 'of the snapshot', body_text: 'Whole row' },
    })
    const error = 'answered 422: Whole row is no note'
    await rig.db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_outbox')
        .set({ snapshot, seq: other?.seq ?? 0, error })
        .where('outbox_id', '=', dead?.outbox_id ?? 0)
        .execute(),
    )
    const { json: shown } = await rig.ask<Page<Record<string, unknown>>>('GET', `/outbox/${dead?.outbox_id}/exchange`)
    const request = { seq: other?.seq, changed_at, before: null, after: { submission_id: SUBMISSION, message_id: 'of the snapshot' } }
    expect(shown.items).toMatchObject([{ request, answer: { text: 'answered 422: •••• is no note' } }])
    const failures = (await rig.ask<Page<{ reason: string }>>('GET', '/destinations/ams/failures')).json
    expect(failures.items).toMatchObject([{ reason: expect.not.stringContaining('Whole row') }])
  })

  it('retries and skips, and records how many', async () => {
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    const [dead] = (await listed('?state=dead')).items
    const counted = await runHere(['outbox', 'retry', '--state', 'dead', '--dry-run'], rig.env)
    expect(counted).toMatchObject({ code: 0, out: '1 change would be retried\n' })
    expect((await listed('?state=dead')).items).toHaveLength(1)
    const retried = await rig.ask('POST', '/outbox/retry', { body: { ids: [String(dead?.outbox_id)] } })
    expect(retried).toMatchObject({ status: 200, json: { changed: 1, under_way: 0 } })
    expect(await states('?destination=ams')).toEqual(['waiting', 'waiting'])
    await tryFirst(rig.db, 'ams', { state: 'unknown' })
    expect((await rig.ask('POST', '/outbox/skip', { body: { destination: 'ams' } })).json).toEqual({ changed: 1, under_way: 0 })
    expect((await rig.ask('POST', '/outbox/skip', { body: { submission_id: SUBMISSION, state: 'ready' } })).json).toMatchObject({
      changed: 3,
    })
    expect((await runHere(['outbox', 'retry', '--state', 'skipped', '--destination', 'mapped'], rig.env)).code).toBe(0)
    const noteOf = (who: string, action: string, target: string | null, detail: object) => {
      return { who, action, target, outcome: 'done', detail: { ...detail, under_way: 0 } }
    }
    expect(await rig.notes()).toEqual([
      noteOf('alice', 'outbox.retry', null, { ids: [String(dead?.outbox_id)], count: 1, changed: 1 }),
      noteOf('alice', 'outbox.skip', 'ams', { destination: 'ams', changed: 1 }),
      noteOf('alice', 'outbox.skip', null, { state: 'ready', submissionId: SUBMISSION, changed: 3 }),
      noteOf('command', 'outbox.retry', 'mapped', { destination: 'mapped', state: 'skipped', changed: 2 }),
    ])
  })

  it('rejects a retry or skip of changes that do not fit', async () => {
    const [waiting] = (await listed('?destination=ams')).items
    const refused = async (route: string, body: unknown) => {
      const { status, json: problem } = await rig.ask('POST', `/outbox/${route}`, { body })
      return [status, problem['detail']]
    }
    expect(await refused('retry', { ids: [String(waiting?.outbox_id)] })).toEqual([
      409,
      expect.stringMatching(`^${waiting?.outbox_id} is waiting; retry applies to dead, unknown, skipped\\. It is sent`),
    ])
    expect(await refused('skip', { ids: ['999'], destination: 'ams' })).toEqual([404, 'the outbox has no change 999 for ams'])
    const select = 'body: give ids, or select changes by destination, account, submission, state, since or until'
    expect(await refused('skip', {})).toEqual([400, select])
    expect(await refused('skip', { ids: ['1'], state: 'dead' })).toEqual([400, 'body: use ids only with destination, without other fields'])
    expect((await refused('retry', { state: 'ready' }))[0]).toBe(400)
    const rows = (await listed()).items.filter(({ message_id: id }) => id === waiting?.message_id)
    const [ams, mapped] = ['ams', 'mapped'].map((name) => rows.find(({ destination }) => destination === name)?.outbox_id)
    for (const action of ['retry', 'skip'])
      expect(await refused(action, { ids: [waiting?.message_id] })).toEqual([
        409,
        `message ${waiting?.message_id} goes to ams (outbox id ${ams}), mapped (outbox id ${mapped}). Name one with destination, or give its outbox id`,
      ])
    expect(await rig.notes()).toEqual([])
  })

  it('pauses and resumes a destination', async () => {
    const list = async () => (await rig.ask<Page<Record<string, unknown>>>('GET', '/destinations')).json
    const paused = await rig.ask('POST', '/destinations/ams/pause', { body: { reason: 'the AMS\nmoves' } })
    expect(paused.json).toEqual({ destination: 'ams', state: 'paused', was: 'active', reason: null })
    expect(await list()).toMatchObject({ next_cursor: null, items: [{ destination: 'ams', state: 'paused', reason: 'the AMS moves' }, {}] })
    expect(await list()).toEqual(json(await runHere(['destination', 'list', '--json'], rig.env)))
    const resumed = { destination: 'ams', state: 'active', was: 'paused', reason: 'the AMS moves' }
    expect((await rig.ask('POST', '/destinations/ams/resume')).json).toEqual(resumed)
    expect((await rig.ask('POST', '/destinations/mapped/pause')).status).toBe(200)
    expect((await list()).items[1]).toMatchObject({ state: 'paused', reason: 'paused by alice' })
    expect((await runHere(['destination', 'resume', 'mapped'], rig.env)).code).toBe(0)
    for (const route of ['pause', 'resume', 'test']) expect((await rig.ask('POST', `/destinations/asm/${route}`)).status).toBe(404)
    expect(await rig.notes()).toEqual([
      { who: 'alice', action: 'destination.pause', target: 'ams', detail: { reason: 'the AMS moves' }, outcome: 'done' },
      { who: 'alice', action: 'destination.resume', target: 'ams', detail: { was: 'paused' }, outcome: 'done' },
      { who: 'alice', action: 'destination.pause', target: 'mapped', detail: { reason: 'paused by alice' }, outcome: 'done' },
      { who: 'command', action: 'destination.resume', target: 'mapped', detail: { was: 'paused' }, outcome: 'done' },
    ])
  })

  it('pauses a suspended destination, and keeps the given reason', async () => {
    const pause = async (body?: object) => await rig.ask('POST', '/destinations/ams/pause', { body })
    const now = async () => (await rig.ask<Page<Record<string, unknown>>>('GET', '/destinations')).json.items[0]
    await pause({ reason: 'the AMS moves' })
    expect(await pause()).toMatchObject({ status: 200, json: { destination: 'ams', state: 'paused' } })
    expect(await now()).toMatchObject({ state: 'paused', reason: 'the AMS moves' })
    await setDestinationState(rig.db, 'ams', 'suspended', 'answered 401')
    expect(await pause({ reason: 'the AMS moves' })).toMatchObject({ status: 200, json: { state: 'paused', was: 'suspended' } })
    expect(await now()).toMatchObject({ state: 'paused', reason: 'the AMS moves' })
  })

  it('sends changes again after a dry run, like the command', async () => {
    await tryFirst(rig.db, 'ams', { state: 'delivered' })
    const resend = (body: object) => rig.ask('POST', '/destinations/ams/resend', { body })
    const dry = await resend({ submission_id: SUBMISSION, dry_run: true })
    expect(dry.json).toMatchObject({
      dry_run: true,
      queued: 0,
      changes: 2,
      submissions: 1,
      waiting: 1,
      dead_lettered: 0,
      unknown: 0,
      continues: false,
    })
    const command = await runHere(['destination', 'resend', 'ams', '--submission', SUBMISSION, '--dry-run', '--json'], rig.env)
    expect(json(command)).toEqual(dry.json)
    expect(await listed('?destination=ams')).toMatchObject({ items: { length: 2 } })
    const done = await resend({ submission_id: SUBMISSION, since: '2h', new_ids: true })
    expect(done.json).toMatchObject({ dry_run: false, queued: 2, changes: 2 })
    expect(new Set((await listed('?destination=ams')).items.map(({ message_id }) => message_id)).size).toBe(4)
    const again = await runHere(['destination', 'resend', 'ams', '--entity', 'thread_messages'], rig.env)
    expect(again.out).toBe('2 changes queued\n')
    expect(again.err).toMatch(/^2 changes of 1 submission \(numbers \d+ to \d+\) will be sent again to ams\n- message ids stay.*\n$/s)
    const notes = (await rig.notes()).map(({ who, action, target, outcome, detail }) => [who, action, target, outcome, detail['queued']])
    expect(notes).toEqual([
      ['alice', 'destination.resend', 'ams', 'done', 2],
      ['command', 'destination.resend', 'ams', 'done', 2],
    ])
    for (const body of [{}, { dry_run: true }, { seq: '9-1' }, { entity: 'changes' }]) expect((await resend(body)).status).toBe(400)
    expect((await rig.ask('POST', '/destinations/other/resend', { body: { seq: '1' } })).status).toBe(404)
    const refused = await runHere(['destination', 'resend', 'ams', '--seq', 'x'], rig.env)
    const range = '--seq: "x" is not a range of changes; give the first and last number, such as 100-250\n'
    expect(refused).toMatchObject({ code: 2, err: range })
    expect((await runHere(['destination', 'resend', 'ams'], rig.env)).err).toMatch(/select changes by since/)
  })

  it('previews requests without sending them, for operators, and records it', async () => {
    type Shown = {
      seq: number
      message_id: string
      request: { body: string; headers: Record<string, string> } | null
      not_sent: string | null
    }
    const preview = (body: object) => rig.ask<{ items: [Shown, ...Shown[]] }>('POST', '/destinations/ams/preview', { body })
    const { json } = await preview({ submission_id: SUBMISSION, limit: 1 })
    const [{ seq, message_id, request }] = json.items
    expect(json.items).toHaveLength(1)
    expect(request).toMatchObject({ method: 'POST', headers: { 'webhook-id': message_id, 'content-type': 'application/json' } })
    expect(JSON.parse(request?.body ?? '').data).toMatchObject({ seq, submission_id: SUBMISSION })
    expect((await preview({ seq })).json.items).toEqual([{ ...json.items[0], request: { ...request, headers: expect.anything() } }])
    const other = (await changesOf(rig.db)).find(({ entity }) => entity !== 'thread_messages')
    const left = (await preview({ seq: other?.seq })).json.items
    expect(left).toMatchObject([{ request: null, not_sent: 'not sent: the filters of the destination exclude it' }])
    const unmapped = await rig.ask('POST', '/destinations/mapped/preview', { body: { seq } })
    const waits = 'not sent until the submission is mapped to a client'
    expect(unmapped.json).toMatchObject({ items: [{ request: { method: 'POST' }, not_sent: waits }] })
    const shown = await runHere(['destination', 'preview', 'ams', '--seq', String(seq)], rig.env)
    expect(shown).toMatchObject({ code: 0, err: '' })
    expect(shown.out).toContain(`webhook-id: ${message_id}\n`)
    expect((await preview({ seq: 999_999 })).status).toBe(404)
    const missing = await runHere(['destination', 'preview', 'ams', '--seq', '999999'], rig.env)
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("change 999999 isn't in the change log") })
    for (const wrong of [{}, { seq: 1, submission_id: SUBMISSION }]) expect((await preview(wrong)).status).toBe(400)
    expect(await states('?destination=ams')).toEqual(['waiting', 'waiting'])
    expect((await rig.notes()).every(({ action }) => action === 'destination.preview')).toBe(true)
  })

  it('tests a destination with a harmless request', async () => {
    const well = await rig.ask('POST', '/destinations/ams/test')
    expect(well.json).toEqual({ destination: 'ams', ok: true, text: expect.stringMatching(/^accepted a signed message/) })
    rig.target.status = 401
    expect((await rig.ask('POST', '/destinations/ams/test')).json).toMatchObject({ ok: false, text: expect.stringMatching(/answered 401/) })
    expect((await runHere(['destination', 'test', 'ams'], rig.env)).code).toBe(1)
    expect(await states('?destination=ams')).toEqual(['waiting', 'waiting'])
    expect((await rig.notes()).map(({ who, action, detail, outcome }) => [who, action, detail, outcome])).toEqual([
      ['alice', 'destination.test', { ok: true }, 'done'],
      ['alice', 'destination.test', { ok: false }, 'failed'],
      ['command', 'destination.test', { ok: false }, 'failed'],
    ])
  })
})
