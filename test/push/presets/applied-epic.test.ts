import { describe, expect, it } from 'vitest'
import type { EpicEmulator } from '../../emulators/applied-epic.ts'
import { onSqlite, type TestDatabase } from '../../tools/databases.ts'
import { at } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { EPIC_ENV, epicWhere, startTestEpic } from './cases.ts'
import { event, message, PERSONAL, PushRig, SUBMISSION } from './rig.ts'

async function start(database: TestDatabase, own = ''): Promise<{ epic: EpicEmulator; rig: PushRig }> {
  const epic = await closedAtEnd(startTestEpic())
  const patient =
    'lookup_after: 50ms, schedule: [50ms, 50ms, 50ms, 50ms, 50ms], timeout: 3s, rps: 100, allow_private: true, allow_hosts: [127.0.0.1]'
  const rig = await PushRig.running(database, `{ name: epic, preset: applied-epic, ${epicWhere(epic)}, ${patient}, ${own} }`, EPIC_ENV)
  return { epic, rig }
}

describe.each(onSqlite)('Applied Epic ($name)', (database) => {
  it('is asked what it has: what was deleted or changed there is found, and what lacks is sent again', async () => {
    const { epic, rig } = await start(database, 'personal_fields: [market_events.detail]')
    await rig.map(SUBMISSION, 'c-1')
    await rig.apply(event(1), event(2), event(3))
    await rig.becomes('delivered', 'delivered', 'delivered')
    await rig.apply(event(1, { detail: 'Loss runs' }))
    const rows = await rig.becomes(...Array<string>(4).fill('delivered'))
    expect(await rig.verify()).toMatchObject({ delivered: 4, has: 4 })

    const [first, second, third] = epic.activities
    first?.notes.pop()
    epic.remove(second?.id ?? '')
    epic.describe(third?.id ?? '', 'Written by a user')
    const found = await rig.verify({ repair: true })
    expect(found).toMatchObject({ has: 1, lacks: 2, differs: 1, repaired: 2 })
    expect(found.changes.map(({ row, result }) => [row.messageId, result])).toEqual([
      [rows[1]?.message_id, 'lacks'],
      [rows[2]?.message_id, 'differs'],
      [rows[3]?.message_id, 'lacks'],
    ])
    await rig.becomes(...Array<string>(6).fill('delivered'))
    expect(epic.activities.map(({ description }) => description).at(-1)).toContain(rows[1]?.message_id)
    expect(epic.activities[0]?.notes.at(-1)?.content).toContain(`Reference: ${rows[3]?.message_id}`)
    expect(await rig.verify()).toMatchObject({ has: 3, differs: 1 })
    epic.failReads('page', 'drop')
    expect(await rig.verify({ repair: true })).toMatchObject({ undetermined: 2, lacks: 0 })
  })

  it('gets nothing before the submission is mapped, and then an activity for each event and message, in order', async () => {
    const { epic, rig } = await start(database, `personal_fields: [${PERSONAL}]`)
    await rig.apply(event(1, { type: 'quote_received', detail: 'Premium "10,000" <draft>' }))
    await rig.apply(message(2, { subject: 'Clearance\n question' }))
    await rig.becomes('unmapped', 'unmapped')
    expect(epic.arrived).toEqual([])

    await rig.map(SUBMISSION, 'c-1')
    const rows = await rig.becomes('delivered', 'delivered')
    const [quote, mail] = epic.activities
    expect(epic.activities).toHaveLength(2)
    expect(quote).toMatchObject({ client: 'c-1', associationType: 'CLIENT', code: 'code-1', status: 'CLOSED' })
    expect(quote?.description).toBe(`Quote received: Market 1 [${rows[0]?.message_id}]`)
    expect(quote?.body['startFollowUpOn']).toBe(at(1).replace('.000', ''))
    expect(quote?.notes[0]?.content).toBe(
      [
        'Quote received: Market 1',
        'Lines: general_liability',
        'Category: binding',
        'Status: In progress',
        'Premium "10,000" <draft>',
        `At: ${at(1).replace('.000', '')}`,
        `Submission: ${SUBMISSION}`,
        `Reference: ${rows[0]?.message_id}`,
      ].join('\n'),
    )
    expect(mail?.description).toBe(`Received from the submission service: Clearance question [${rows[1]?.message_id}]`)
    expect(rows.map(({ remote_id: id }) => id)).toEqual(epic.activities.map(({ id }) => id))
    expect(epic.tokens).toBe(1)
  })

  it('trap 73: gets directions from the brokerage’s side, and no personal column without opt-in', async () => {
    const { epic, rig } = await start(database)
    await rig.map(SUBMISSION, 'c-1')
    await rig.apply(message(1, { direction: 'inbound' }))
    await rig.apply(message(2, { direction: 'outbound' }))
    const rows = await rig.becomes('delivered', 'delivered')
    expect(epic.activities.map(({ description }) => description)).toEqual([
      `Sent to the submission service [${rows[0]?.message_id}]`,
      `Received from the submission service [${rows[1]?.message_id}]`,
    ])
    expect(epic.activities[0]?.notes[0]?.content).toContain('Written by the brokerage itself.')
    expect(epic.activities[1]?.notes[0]?.content).not.toContain('Written by')
    const sent = epic.arrived.map(({ body }) => body).join()
    for (const personal of ['Text of message', 'Update 1', '@']) expect(sent).not.toContain(personal)
  })

  it('is asked first if the outcome of an activity is unknown: each exists once', async () => {
    const { epic, rig } = await start(database)
    await rig.map(SUBMISSION, 'c-1')
    epic.fail('lose', 'drop', 'hang', 'refuse', 'busy', 'fall', 'page')
    for (const n of [1, 2, 3, 4]) await rig.apply(event(n))
    const rows = await rig.becomes('delivered', 'delivered', 'delivered', 'delivered')

    expect(epic.activities.map(({ description }) => description)).toEqual(
      rows.map(({ message_id: id }) => expect.stringContaining(`[${id}]`)),
    )
    expect(rows.map(({ remote_id: id }) => id)).toEqual(epic.activities.map(({ id }) => id))
    const lookups = epic.arrived.filter(({ path }) => path === '/workflow-management/v1/clients/c-1/activities')
    expect(lookups).toHaveLength(6)
    expect(rows[0]?.detail).toBe('the target has the record: the lookup found it')
  })

  it('gets a value that arrives later as a note on the activity, once', async () => {
    const { epic, rig } = await start(database, `personal_fields: [${PERSONAL}]`)
    await rig.map(SUBMISSION, 'c-1')
    await rig.apply(event(1, { detail: null }))
    await rig.becomes('delivered')
    epic.fail('lose')
    await rig.apply(event(1, { detail: 'They need loss runs' }))
    const rows = await rig.becomes('delivered', 'delivered')

    expect(epic.activities).toHaveLength(1)
    expect(epic.activities[0]?.notes.map(({ content }) => content)).toEqual([
      expect.stringContaining('Reference:'),
      `Filled in since:\ndetail: They need loss runs\nReference: ${rows[1]?.message_id}`,
    ])
    expect(rows.map(({ remote_id: id }) => id)).toEqual([epic.activities[0]?.id, epic.activities[0]?.id])
  })

  it('gets no activity of an update whose record it rejected, and no note without columns that may be sent', async () => {
    const { epic, rig } = await start(database)
    await rig.map(SUBMISSION, 'c-9')
    await rig.apply(event(1, { status: null }))
    await rig.becomes('dead')
    await rig.map(SUBMISSION, 'c-1')
    await rig.apply(event(1, { status: 'in_progress' }))
    await rig.apply(event(2))
    await rig.apply(event(2, { detail: 'Jane called' }))
    const rows = await rig.becomes('dead', 'skipped', 'delivered', 'skipped')
    expect(epic.activities.map(({ description }) => description)).toEqual([expect.stringContaining(`[${rows[2]?.message_id}]`)])
    expect(epic.activities[0]?.notes).toHaveLength(1)
    expect(rows.map(({ error }) => error?.slice(0, 8))).toEqual(['answered', 'not sent', undefined, 'not sent'])
  })

  it('is suspended when it takes the access away, and gets the rest when it may be used again', async () => {
    const { epic, rig } = await start(database)
    await rig.map(SUBMISSION, 'c-1')
    epic.withdraw()
    await rig.apply(event(1))
    await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
    expect((await rig.state())?.reason).toContain('answered 403')
    await rig.apply(event(2))
    await rig.becomes('waiting', 'waiting')

    epic.restore()
    await rig.becomes('delivered', 'delivered')
    expect(epic.activities).toHaveLength(2)
  })

  it('gives a new token for one that it no longer takes', async () => {
    const { epic, rig } = await start(database)
    await rig.map(SUBMISSION, 'c-2', 'p-7')
    await rig.apply(event(1))
    await rig.becomes('delivered')
    epic.revokeTokens()
    await rig.apply(event(2))
    const rows = await rig.becomes('delivered', 'delivered')
    expect(epic.tokens).toBe(2)
    expect(rows[1]?.attempts).toBe(1)
    expect(epic.activities.map(({ client, associationType }) => [client, associationType])).toEqual([
      ['c-2', 'POLICY'],
      ['c-2', 'POLICY'],
    ])
  })

  it('refuses what its contract does not allow, for good', async () => {
    const { epic, rig } = await start(database)
    await rig.map(SUBMISSION, 'c-9')
    await rig.apply(event(1))
    const [row] = await rig.becomes('dead')
    expect(row).toMatchObject({ attempts: 3, status: 400, error: 'answered 400 (association is invalid)' })
    expect(epic.activities).toEqual([])
  })

  it('answers a probe', async () => {
    const { epic, rig } = await start(database)
    const signal = new AbortController().signal
    expect(await rig.kind.probe(signal)).toEqual({ ok: true, text: 'answered 200: the destination accepts the credentials' })
    epic.withdraw()
    expect(await rig.kind.probe(signal)).toMatchObject({ ok: false, text: expect.stringContaining('answered 403') })
    expect(epic.activities).toEqual([])
  })
})
