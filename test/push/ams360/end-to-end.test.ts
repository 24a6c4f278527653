import { describe, expect, it, onTestFinished } from 'vitest'
import { type Ams360Emulator, startAms360 } from '../../emulators/ams360.ts'
import { onSqlite, type TestDatabase } from '../../tools/databases.ts'
import { observedState, wireRequirements } from '../../tools/observations.ts'
import { until } from '../../tools/until.ts'
import { ACCOUNT, event, PushRig, SUBMISSION } from '../presets/rig.ts'

const CUSTOMER = '4491edb1-3d68-468b-8adc-0d41c04a25e9'

const LOOKUP = 'mapping: lookup, customer_field: insured_name, personal_fields: [submissions.insured_name]'

async function start(database: TestDatabase, own = ''): Promise<{ ams: Ams360Emulator; rig: PushRig }> {
  const ams = await startAms360({
    agency: '8880006-1',
    user: 'wsapi',
    password: 'the-password',
    customers: [{ id: CUSTOMER, number: 5544, name: 'Harbour Bakery LLC' }],
  })
  onTestFinished(() => ams.close())
  const login = 'agency: 8880006-1, user: wsapi, password: "${AMS_PASSWORD}"'
  const what = `kind: ams360, url: "${ams.url}", ${login}, entities: [market_events]`
  const patient = 'allow_private: true, schedule: [50ms, 50ms, 50ms], timeout: 3s'
  const rig = await PushRig.running(database, `{ name: ams, ${what}, ${patient}, ${own} }`, { AMS_PASSWORD: 'the-password' })
  return { ams, rig }
}

describe.each(onSqlite)('AMS360 ($name)', (database) => {
  it('gets nothing before the submission is mapped, and then one note for each event, in order', async () => {
    const { ams, rig } = await start(database)
    await rig.apply(event(1), event(2))
    await rig.becomes('unmapped', 'unmapped')
    expect(ams.arrived).toEqual([])
    await rig.map(SUBMISSION, '5544')
    const rows = await rig.becomes('delivered', 'delivered')
    expect(ams.notes.map(({ text }) => text.split(' ').at(-1))).toEqual(rows.map((row) => row.message_id))
    expect(rows.map((row) => row.remote_id)).toEqual(ams.notes.map(({ id }) => id))
  })

  it('gets no note of a change without columns that may be sent: it would be empty', async () => {
    const { ams, rig } = await start(database)
    await rig.map(SUBMISSION, '5544')
    await rig.apply(event(1))
    await rig.apply(event(1, { detail: 'Jane called' }))
    await rig.apply(event(2))
    await rig.becomes('delivered', 'skipped', 'delivered')
    expect(ams.notes).toHaveLength(2)
  })

  it('keeps a note whose answer was lost for a person, and continues without sending it again', async () => {
    const { ams, rig } = await start(database)
    await rig.map(SUBMISSION, CUSTOMER)
    ams.fail('hang')
    await rig.apply(event(1), event(2))
    const [lost] = await rig.becomes('unknown', 'delivered')
    expect(ams.notes).toHaveLength(2)
    expect(ams.notes.filter(({ text }) => text.endsWith(String(lost?.message_id)))).toHaveLength(1)
  })

  it('is suspended when the agency withdraws the user; nothing is lost', async () => {
    const { ams, rig } = await start(database)
    await rig.map(SUBMISSION, CUSTOMER)
    ams.withdraw()
    await rig.apply(event(1))
    await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
    await rig.becomes('waiting')
    expect(ams.notes).toEqual([])
  })

  it('is suspended when the user is withdrawn during the customer lookup; no attempt is counted', async () => {
    const { ams, rig } = await start(database, LOOKUP)
    ams.withdraw()
    await rig.apply(observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [], { insured_name: '5544' }), 1), event(1))
    await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
    await until('it was tried', async () => (await rig.becomes('waiting'))[0]?.error !== null)
    expect(await rig.becomes('waiting')).toMatchObject([{ attempts: 0, error: expect.stringContaining('rejects the credentials') }])
    expect((await rig.state())?.reason).toContain('rejects the credentials')
  })

  it('finds the customer itself by the number in the field that is named', async () => {
    const { ams, rig } = await start(database, LOOKUP)
    await rig.apply(observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [], { insured_name: '5544' }), 1), event(1))
    await rig.becomes('delivered')
    expect(ams.notes).toMatchObject([{ customer: CUSTOMER }])
  })
})
