import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import { reportAlarm } from '../../../../src/store/operators/alarms.ts'
import type { AlarmsTable } from '../../../../src/store/schema/operators.ts'
import { runHere } from '../../../app/run.ts'
import { insertRows, onSqlite } from '../../../tools/databases.ts'
import { adminRigForEach, type Page, refusal } from '../rig.ts'

describe.each(onSqlite)('alarms by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)

  const ago = (ms: number) => timeFromMs(Date.now() - ms)

  async function alarm(over: Partial<AlarmsTable>): Promise<void> {
    const at = timeFromMs(Date.now())
    const about = { name: 'test', account: 'default', destination: '', state: 'firing', severity: 'warning', text: 'look at it' } as const
    const times = { since: at, last_at: at, notified_at: null, resolved_at: null, acknowledged_by: null, acknowledged_at: null }
    await insertRows(rig.db, 'alarms', { ...about, ...times, ...over })
  }

  it('lists active alarms, and with `all` resolved ones', async () => {
    await alarm({ name: 'fires' })
    await alarm({ name: 'over', state: 'resolved', resolved_at: timeFromMs(Date.now()) })
    await alarm({ name: 'begins', state: 'pending' })
    const fires = (await rig.ask<Page>('GET', '/alarms')).json.items
    expect(fires.map((each) => each['name'])).toEqual(['fires'])
    const all = (await rig.ask<Page>('GET', '/alarms?all=true')).json.items
    expect(all.map((each) => each['name']).sort()).toEqual(['fires', 'over'])
    expect((await runHere(['alarm', 'list', '--all'], rig.env)).out).toMatch(/^over /m)
  })

  it('lists recipients who could not be notified, with the answer only at the terminal', async () => {
    const queued_at = ago(1_000)
    const notice = { operator: 'desk', name: 'push_late', account: '', destination: 'ams', notice_id: 'n-1', kind: 'firing' } as const
    const failed = { attempts: 1, error: 'it answered 500: Jane Roe', outcome: null, settled_at: null }
    await insertRows(rig.db, 'sync_alert_messages', { ...notice, ...failed, body: '{}', queued_at, due_at: queued_at })
    expect((await rig.ask('GET', '/alarms')).json['not_alerted']).toEqual([{ operator: 'desk', alarm: 'push_late', error: '••••' }])
    expect((await runHere(['alarm', 'list'], { ...rig.env, COLUMNS: '60' })).out).toBe(
      'No active alarms.\nwarning: alert recipient desk could not be notified of alarm\npush_late: it answered 500: Jane Roe\n',
    )
  })

  it('lists the history page by page', async () => {
    const at = ago(60_000)
    const about = { account: 'default', destination: '', severity: 'warning' } as const
    const row = { ...about, name: 'inbox_dead', since: at, last_at: at, resolved_at: null, notified_at: null } as const
    for (const name of ['inbox_dead', 'push_late']) await reportAlarm(rig.db, { ...row, name, state: 'firing', text: 'first' }, [])
    await reportAlarm(rig.db, { ...row, state: 'firing', text: 'second' }, [])
    await reportAlarm(rig.db, { ...row, state: 'resolved', resolved_at: ago(1_000), text: 'second' }, [])
    await reportAlarm(rig.db, { ...row, state: 'pending', since: ago(500), text: 'third' }, [])
    await reportAlarm(rig.db, { ...row, state: 'firing', since: ago(500), text: 'third' }, [])
    const all = await rig.ask<Page>('GET', '/alarms/history')
    expect(all.json.items).toMatchObject([
      { name: 'inbox_dead', text: 'third', resolved_at: null },
      { name: 'push_late', text: 'first', resolved_at: null },
      { name: 'inbox_dead', text: 'second', fired_at: at, resolved_at: expect.any(String) },
    ])
    const first = (await rig.ask<Page>('GET', '/alarms/history?limit=2')).json
    const rest = (await rig.ask<Page>('GET', `/alarms/history?limit=2&cursor=${first.next_cursor}`)).json
    expect([...first.items, ...rest.items]).toEqual(all.json.items)
    const names = async (query: string) => (await rig.ask<Page>('GET', `/alarms/history?${query}`)).json.items.map((each) => each['name'])
    expect(await names('name=push_late')).toEqual(['push_late'])
    expect(await names('until=1h')).toEqual([])
    expect((await runHere(['alarm', 'history', '--name', 'push_late', '--severity', 'warning'], rig.env)).out).toMatch(/push_late/)
    expect((await runHere(['alarm', 'history', '--severity', 'critical'], rig.env)).out).toBe('No alarms yet.\n')
  })

  it('ends a deleted alarm in the history', async () => {
    const at = ago(60_000)
    const row = { account: '', destination: '', severity: 'warning', since: at, last_at: at, resolved_at: null, notified_at: null } as const
    await reportAlarm(rig.db, { ...row, name: 'disk_space', state: 'firing', text: 'full' }, [])
    await rig.db.write('test', (tx) => tx.sql.deleteFrom('alarms').execute())
    await reportAlarm(rig.db, { ...row, name: 'push_late', state: 'firing', text: 'late' }, [])
    const items = (await rig.ask<Page>('GET', '/alarms/history')).json.items
    expect(items.map(({ name, resolved_at }) => [name, resolved_at !== null])).toEqual([
      ['push_late', false],
      ['disk_space', true],
    ])
  })

  it('acknowledges an alarm until it fires again', async () => {
    const at = ago(60_000)
    const row = { destination: '', severity: 'warning', since: at, last_at: at, resolved_at: null, notified_at: null, text: 'x' } as const
    const fire = (account: string, over: object = {}) =>
      reportAlarm(rig.db, { ...row, name: 'inbox_dead', account, state: 'firing', ...over }, [])
    for (const account of ['default', 'other', 'third']) await fire(account)
    const inactive = await rig.ask('POST', '/alarms/acknowledge', { body: { name: 'push_late' } })
    expect(inactive).toMatchObject(refusal(404, 'alarm push_late is not active'))
    const elsewhere = await runHere(['alarm', 'acknowledge', 'inbox_dead', '--account', 'none'], rig.env)
    expect(elsewhere.err).toBe('alarm inbox_dead is not active for account none\n')
    expect(await rig.notes()).toEqual([])
    const note = async (body: object) => (await rig.ask('POST', '/alarms/acknowledge', { body: { name: 'inbox_dead', ...body } })).json
    expect(await note({ account: 'default' })).toEqual({ acknowledged: 1, already: 0 })
    expect(await note({ account: 'default' })).toEqual({ acknowledged: 0, already: 1 })
    const rest = await runHere(['alarm', 'acknowledge', 'inbox_dead'], rig.env)
    expect(rest.out).toMatch(/^2 alarms acknowledged \(1 already acknowledged\)/)
    const listed = (await rig.ask<Page>('GET', '/alarms')).json.items
    expect(listed.map(({ account, acknowledged_by: by }) => [account, by])).toEqual([
      ['default', 'alice'],
      ['other', 'command'],
      ['third', 'command'],
    ])
    expect(listed[0]).toMatchObject({ state: 'firing', acknowledged_at: expect.any(String) })
    // A new episode is unacknowledged; the history keeps the old one.
    await fire('default', { text: 'still' })
    expect((await rig.ask<Page>('GET', '/alarms')).json.items[0]).toMatchObject({ text: 'still', acknowledged_by: 'alice' })
    await fire('default', { state: 'resolved', resolved_at: at })
    await fire('default', { since: ago(10) })
    expect((await rig.ask<Page>('GET', '/alarms')).json.items[0]).toMatchObject({ acknowledged_by: null, acknowledged_at: null })
    const history = (await rig.ask<Page>('GET', '/alarms/history?account=default')).json.items
    expect(history.map(({ acknowledged_by: by }) => by)).toEqual([null, 'alice'])
    expect(await rig.notes()).toEqual([
      { who: 'alice', action: 'alarm.acknowledge', target: 'inbox_dead', detail: { account: 'default' }, outcome: 'done' },
      { who: 'command', action: 'alarm.acknowledge', target: 'inbox_dead', detail: {}, outcome: 'done' },
    ])
  })

  it('sends a test message to alert recipients, and records who did not accept it', async () => {
    const nobody = /^the settings have no alert recipients/
    expect(await rig.ask('POST', '/alarms/test')).toMatchObject(refusal(404, expect.stringMatching(nobody)))
    expect((await runHere(['alarm', 'test'], rig.env)).err).toMatch(nobody)
    expect(await rig.notes()).toEqual([])
    rig.useOperators(`  - { name: desk, kind: webhook, url: "${rig.target.url}", secret: "\${AMS_SECRET}", allow_private: true }\n`)
    const sent = await rig.ask<Page>('POST', '/alarms/test', { body: { operator: 'desk' } })
    expect(sent.json.items).toEqual([{ operator: 'desk', ok: true, text: 'accepted a test message' }])
    rig.target.status = 500
    expect((await runHere(['alarm', 'test'], rig.env)).code).toBe(1)
    expect((await rig.ask('POST', '/alarms/test', { body: { operator: 'nobody' } })).status).toBe(404)
    expect(await rig.notes()).toEqual([
      { who: 'alice', action: 'alarm.test', target: 'desk', detail: { sent: 1, refused: [] }, outcome: 'done' },
      { who: 'command', action: 'alarm.test', target: null, detail: { sent: 1, refused: ['desk'] }, outcome: 'failed' },
    ])
  })
})
