import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import type { AlarmsTable } from '../../../../src/store/schema/tables-alarms.ts'
import { json, runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { AdminRig } from '../rig.ts'

interface Page {
  readonly items: readonly Record<string, unknown>[]
}

describe.each(testDatabases)('alarms by the admin routes, on $name', (database) => {
  let rig: AdminRig
  beforeEach(async () => {
    rig = await AdminRig.open(database)
  })
  afterEach(() => rig.close())

  async function alarm(over: Partial<AlarmsTable>): Promise<void> {
    const at = timeFromMs(Date.now())
    const row: AlarmsTable = {
      ...{ name: 'test', account: 'default', destination: '', state: 'firing', severity: 'warning', text: 'look at it', notified_at: null },
      ...{ since: at, last_at: at, resolved_at: null },
    }
    await rig.db.write('test', (tx) =>
      tx.sql
        .insertInto('alarms')
        .values({ ...row, ...over })
        .execute(),
    )
  }

  it('lists what fires, and with all what is over, as the command does', async () => {
    await alarm({ name: 'fires' })
    await alarm({ name: 'over', state: 'resolved', resolved_at: timeFromMs(Date.now()) })
    await alarm({ name: 'begins', state: 'pending' })
    const fires = (await rig.ask<Page>('GET', '/alarms')).json.items
    expect(fires).toEqual(json(await runHere(['alarm', 'list', '--json'], rig.env)))
    expect(fires.map((each) => each['name'])).toEqual(['fires'])
    const all = (await rig.ask<Page>('GET', '/alarms?all=true')).json.items
    expect(all).toEqual(json(await runHere(['alarm', 'list', '--all', '--json'], rig.env)))
    expect(all.map((each) => each['name']).sort()).toEqual(['fires', 'over'])
  })

  it('sends a test message to operators, and notes who took none', async () => {
    expect(await rig.ask('POST', '/alarms/test')).toMatchObject({
      ...{ status: 404, json: { detail: expect.stringMatching(/^there are no operators in the settings/) } },
    })
    expect((await runHere(['alarm', 'test'], rig.env)).err).toMatch(/^there are no operators in the settings/)
    expect(await rig.notes()).toEqual([])
    rig.useOperators(`  - { name: desk, kind: webhook, url: "${rig.target.url}", secret: "\${AMS_SECRET}", allow_private: true }\n`)
    const sent = await rig.ask<Page>('POST', '/alarms/test', { body: { operator: 'desk' } })
    expect(sent.json.items).toEqual([{ operator: 'desk', ok: true, text: 'it took a test message' }])
    rig.target.status = 500
    expect((await runHere(['alarm', 'test'], rig.env)).code).toBe(1)
    expect((await rig.ask('POST', '/alarms/test', { body: { operator: 'nobody' } })).status).toBe(404)
    expect(await rig.notes()).toEqual([
      { who: 'alice', action: 'alarm.test', target: 'desk', detail: { sent: 1, refused: [] }, outcome: 'done' },
      { who: 'command', action: 'alarm.test', target: null, detail: { sent: 1, refused: ['desk'] }, outcome: 'failed' },
    ])
  })
})
