import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import { cursorOf } from '../../../../src/ops/operations/inputs.ts'
import { runHere } from '../../../app/run.ts'
import { findingRow } from '../../../reconcile/report/sample.ts'
import { insertRows, testDatabases } from '../../../tools/databases.ts'
import { adminRigForEach, BOB, type Page, refusal } from '../rig.ts'

const ONE = 'bbbbbbbb-0000-4000-8000-000000000001'

describe.each(testDatabases)('reconciliation and completeness by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)

  const request = (body: unknown, token?: string) => rig.ask<Page>('POST', '/reconcile-runs', { body, ...(token && { token }) })
  const runs = async (query = '') => (await rig.ask<Page>('GET', `/reconcile-runs${query}`)).json

  it('stops a run once, by route and by command, and records who did', async () => {
    const [first, second] = [(await request({ dry_run: true })).json.items[0], (await request({ no_state: true })).json.items[0]]
    const stopped = await rig.ask('POST', `/reconcile-runs/${first?.['run_id']}/stop`, { token: BOB })
    const run = { run_id: first?.['run_id'], state: 'stopped', exit_code: 4, note: 'bob stopped it after 0 of 0 submissions' }
    expect(stopped).toMatchObject({ status: 200, json: run })
    const again = await rig.ask('POST', `/reconcile-runs/${first?.['run_id']}/stop`)
    expect([again.status, again.json['detail']]).toEqual([409, expect.stringMatching(/has already ended \(stopped\)$/)])
    expect((await rig.ask('POST', `/reconcile-runs/${randomUUID()}/stop`)).status).toBe(404)
    expect((await rig.notes()).filter(({ action }) => action === 'reconcile.stop')).toEqual([
      { who: 'bob', action: 'reconcile.stop', target: 'default', outcome: 'done', detail: { run: first?.['run_id'], was: 'requested' } },
    ])
    const done = await runHere(['reconcile', 'stop', String(second?.['run_id'])], rig.env)
    expect(done.code).toBe(0)
    expect(done.out).toMatch(/^Reconcile run \S+ is stopped: command stopped it after 0 of 0 submissions\n$/)
    expect((await runs('?state=requested')).items).toEqual([])
  })

  it('stores the request of a run for a worker, and records who made it', async () => {
    await rig.ask('POST', '/submissions/track', { body: { ids: [ONE] } })
    const asked = await request({ dry_run: true, submissions: [ONE, ONE.toUpperCase()] }, BOB)
    expect(asked.status).toBe(200)
    const [run] = asked.json.items
    const options = { dry_run: true, submissions: [ONE] }
    expect(run).toMatchObject({ account: 'default', requested_by: 'admin:bob', state: 'requested', options })
    // The same request is the same run.
    expect((await request({ dry_run: true, submissions: [ONE] }, BOB)).json.items).toEqual([run])
    expect(await request({ since: '2999-01-01' })).toMatchObject(
      refusal(422, 'since: 2999-01-01T00:00:00.000000Z is in the future. Give an earlier time'),
    )
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
    const wrong = await request({ concurrency: 0, dry: true })
    expect(wrong).toMatchObject({ status: 400, json: { problems: { length: 2 } } })
  })

  it('requests a run of each account if none is named', async () => {
    const [account] = rig.config.accounts
    if (!account) throw new Error('no account')
    rig.config = { ...rig.config, accounts: [account, { ...account, name: 'second', default: false }] }
    expect((await request({})).json.items.map((run) => run['account'])).toEqual(['default', 'second'])
    expect((await request({ account: 'second', no_state: true })).json.items).toHaveLength(1)
  })

  it('lists runs page by page, newest first', async () => {
    for (const since of ['2026-01-01', '2026-01-02', '2026-01-03']) await request({ since })
    // At the same time, as a schedule requests runs of many accounts.
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
    expect((await runHere(['reconcile', 'list', '--state', 'done'], rig.env)).out).toBe('No runs.\n')
    expect((await rig.ask('GET', `/reconcile-runs?cursor=${cursorOf([randomUUID()])}`)).status).toBe(400)
  })

  it('shows findings of a run page by page, and its report', async () => {
    const [run] = (await request({})).json.items
    const id = String(run?.['run_id'])
    await found(id, 1, { kind: 'missing', known: false, detail: 'an event was missing <script>' })
    await found(id, 2, { kind: 'different', known: false, detail: 'a status was another' })
    await found(id, 3, { kind: 'absent', known: true, detail: 'a message is gone' })
    const findings = async (query = '') => (await rig.ask<Page>('GET', `/reconcile-runs/${id}/findings${query}`)).json
    const all = await findings()
    expect(all.items).toMatchObject([
      { finding_no: 1, kind: 'missing', fields: null, known: false, repaired_at: null },
      { finding_no: 2, kind: 'different' },
      { finding_no: 3, known: true },
    ])
    const first = await findings('?limit=2')
    expect(await findings(`?limit=2&cursor=${first.next_cursor}`)).toEqual({ items: [all.items[2]], next_cursor: null })
    expect((await findings('?known=false')).items).toHaveLength(2)
    expect((await findings(`?known=true&kind=absent&submission_id=${ONE}`)).items).toHaveLength(1)
    const report = await rig.ask('GET', `/reconcile-runs/${id}/report.html`)
    expect([report.status, report.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(report.text).toContain(id)
    expect(report.headers.get('content-security-policy')).toMatch(/^default-src 'none';/)
    expect(report.text).not.toContain('<script>')
    const nowhere = randomUUID()
    for (const path of ['', '/findings', '/report.html']) {
      expect(await rig.ask('GET', `/reconcile-runs/${nowhere}${path}`)).toMatchObject({
        status: 404,
        json: { detail: `reconcile run ${nowhere} does not exist. \`submission-mirror reconcile list\` lists all runs` },
      })
    }
    expect((await rig.ask('GET', '/reconcile-runs/x')).status).toBe(404)
  })

  const found = (runId: string, no: number, over: Parameters<typeof findingRow>[2]) =>
    insertRows(rig.db, 'reconcile_findings', findingRow(runId, no, { submission_id: ONE, found_at: timeFromMs(Date.now()), ...over }))
})
