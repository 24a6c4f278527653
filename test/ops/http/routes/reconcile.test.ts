import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type TimeText, timeFromMs } from '../../../../src/model/time.ts'
import { cursorOf } from '../../../../src/ops/operations/inputs.ts'
import { runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { AdminRig, BOB } from '../rig.ts'

const ONE = 'bbbbbbbb-0000-4000-8000-000000000001'

interface Page<T = Record<string, unknown>> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

describe.each(testDatabases)('reconciliation and completeness by the admin routes, on $name', (database) => {
  let rig: AdminRig
  beforeEach(async () => {
    rig = await AdminRig.open(database)
  })
  afterEach(() => rig.close())

  const request = (body: unknown, token?: string) => rig.ask<Page>('POST', '/reconcile-runs', { body, ...(token && { token }) })
  const runs = async (query = '') => (await rig.ask<Page>('GET', `/reconcile-runs${query}`)).json

  it('stops a run once, by route and by command, and notes who did', async () => {
    const [first, second] = [(await request({ dry_run: true })).json.items[0], (await request({ no_state: true })).json.items[0]]
    const stopped = await rig.ask('POST', `/reconcile-runs/${first?.['run_id']}/stop`, { token: BOB })
    expect(stopped).toMatchObject({
      status: 200,
      json: { run_id: first?.['run_id'], state: 'stopped', exit_code: 4, note: 'bob stopped it after 0 of 0 submissions' },
    })
    const again = await rig.ask('POST', `/reconcile-runs/${first?.['run_id']}/stop`)
    expect([again.status, again.json['detail']]).toEqual([409, expect.stringMatching(/has ended already: it is stopped$/)])
    expect((await rig.ask('POST', `/reconcile-runs/${randomUUID()}/stop`)).status).toBe(404)
    expect((await rig.notes()).filter(({ action }) => action === 'reconcile.stop')).toEqual([
      { who: 'bob', action: 'reconcile.stop', target: 'default', outcome: 'done', detail: { run: first?.['run_id'], was: 'requested' } },
    ])
    const done = await runHere(['reconcile', 'stop', String(second?.['run_id'])], rig.env)
    expect([done.code, done.out]).toEqual([
      0,
      expect.stringMatching(/^reconcile run \S+ is stopped: command stopped it after 0 of 0 submissions\n$/),
    ])
    expect((await runs('?state=requested')).items).toEqual([])
  })

  it('stores a run for a working process to take up, and notes who asked for it', async () => {
    await rig.ask('POST', '/submissions/track', { body: { ids: [ONE] } })
    const asked = await request({ dry_run: true, submissions: [ONE, ONE.toUpperCase()] }, BOB)
    expect(asked.status).toBe(200)
    const [run] = asked.json.items
    expect(run).toMatchObject({
      account: 'default',
      requested_by: 'admin:bob',
      state: 'requested',
      options: { dry_run: true, submissions: [ONE] },
    })
    // Asked for twice, it is still one run.
    expect((await request({ dry_run: true, submissions: [ONE] }, BOB)).json.items).toEqual([run])
    expect(await request({ since: '2999-01-01' })).toMatchObject({
      status: 422,
      json: { detail: 'since: 2999-01-01T00:00:00.000000Z lies in the future, so nothing can have changed since; give an earlier time' },
    })
    expect((await request({ since: '2d', active_only: true })).json.items).toMatchObject([
      { options: { active_only: true, since: expect.stringMatching(/Z$/) } },
    ])
    expect((await rig.ask('GET', `/reconcile-runs/${run?.['run_id']}`)).json).toEqual(run)
    expect((await rig.ask('GET', `/reconcile-runs/${String(run?.['run_id']).slice(0, 9)}`)).json).toEqual(run)
    const note = { action: 'reconcile.request', target: 'default', outcome: 'done' }
    const detail = { dry_run: true, submissions: { ids: [ONE], count: 1 } }
    expect((await rig.notes()).slice(1)).toEqual([
      { who: 'bob', ...note, detail },
      { who: 'bob', ...note, detail },
      { who: 'alice', ...note, detail: { active_only: true, since: expect.stringMatching(/Z$/) } },
    ])
    const two = 'bbbbbbbb-0000-4000-8000-000000000002'
    expect(await request({ submissions: [two] })).toMatchObject({ status: 404 })
    expect(await request({ account: 'other' })).toMatchObject({ status: 422 })
    expect(await request({ concurrency: 0, dry: true })).toMatchObject({
      status: 400,
      json: { problems: [expect.anything(), expect.anything()] },
    })
  })

  it('asks for a run of each account when none is named', async () => {
    const [account] = rig.config.accounts
    if (!account) throw new Error('no account')
    rig.config = { ...rig.config, accounts: [account, { ...account, name: 'second', default: false }] }
    expect((await request({})).json.items.map((run) => run['account'])).toEqual(['default', 'second'])
    expect((await request({ account: 'second', no_state: true })).json.items).toHaveLength(1)
  })

  it('lists runs page by page, the newest first', async () => {
    for (const since of ['2026-01-01', '2026-01-02', '2026-01-03']) await request({ since })
    // All at once, as a timetable asks for those of many accounts.
    const at = timeFromMs(Date.now())
    await rig.db.write('test', (tx) => tx.sql.updateTable('reconcile_runs').set({ requested_at: at }).execute())
    const all = await runs()
    expect(all).toMatchObject({ items: [{}, {}, {}], next_cursor: null })
    const first = await runs('?limit=2')
    expect(first.items).toEqual(all.items.slice(0, 2))
    expect(await runs(`?limit=2&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[2]], next_cursor: null })
    expect((await runs('?account=default&state=requested&since=1h')).items).toHaveLength(3)
    expect((await runs('?state=done')).items).toEqual([])
    const listed = await runHere(['reconcile', 'list', '--state', 'requested', '--since', '1h', '--json'], rig.env)
    expect(JSON.parse(listed.out)).toEqual(all)
    expect((await runHere(['reconcile', 'list', '--state', 'done'], rig.env)).out).toBe('No run.\n')
    expect((await rig.ask('GET', `/reconcile-runs?cursor=${cursorOf([randomUUID()])}`)).status).toBe(400)
  })

  it('shows what a run found page by page, and its report', async () => {
    const [run] = (await request({})).json.items
    const id = String(run?.['run_id'])
    await found(id, 1, { kind: 'missing', standing: false, detail: 'an event was missing <script>' })
    await found(id, 2, { kind: 'different', standing: false, detail: 'a status was another' })
    await found(id, 3, { kind: 'absent', standing: true, detail: 'a message is gone' })
    const findings = async (query = '') => (await rig.ask<Page>('GET', `/reconcile-runs/${id}/findings${query}`)).json
    const all = await findings()
    expect(all.items).toMatchObject([
      { finding_no: 1, kind: 'missing', fields: null, standing: false, repaired_at: null },
      { finding_no: 2, kind: 'different' },
      { finding_no: 3, standing: true },
    ])
    const first = await findings('?limit=2')
    expect(await findings(`?limit=2&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[2]], next_cursor: null })
    expect((await findings('?standing=false')).items).toHaveLength(2)
    expect((await findings(`?standing=true&kind=absent&submission_id=${ONE}`)).items).toHaveLength(1)
    const report = await rig.ask('GET', `/reconcile-runs/${id}/report.html`)
    expect([report.status, report.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(report.text).toContain(id)
    expect(report.headers.get('content-security-policy')).toMatch(/^default-src 'none';/)
    expect(report.text).not.toContain('<script>')
    const nowhere = randomUUID()
    for (const path of ['', '/findings', '/report.html']) {
      expect(await rig.ask('GET', `/reconcile-runs/${nowhere}${path}`)).toMatchObject({
        status: 404,
        json: { detail: `there is no reconcile run ${nowhere}; \`submission-mirror reconcile list\` lists them` },
      })
    }
    expect((await rig.ask('GET', '/reconcile-runs/x')).status).toBe(404)
  })

  async function found(
    runId: string,
    no: number,
    over: { kind: 'missing' | 'different' | 'absent'; standing: boolean; detail: string },
  ): Promise<void> {
    const row = {
      run_id: runId,
      finding_no: no,
      account: 'default',
      submission_id: ONE,
      entity: 'market_events',
      entity_id: '[]',
      fields: null,
      read: null,
      destination: null,
      seq: null,
      repaired_at: null,
      found_at: timeFromMs(Date.now()) as TimeText,
    }
    await rig.db.write('test', (tx) =>
      tx.sql
        .insertInto('reconcile_findings')
        .values({ ...row, ...over })
        .execute(),
    )
  }
})
