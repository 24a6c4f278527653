import { describe, expect, it } from 'vitest'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { retryRows } from '../../../src/store/outbox/retry.ts'
import type { Env } from '../../config/support.ts'
import type { HawkSoftEmulator } from '../../emulators/hawksoft.ts'
import { onSqlite, sqliteDatabase, type TestDatabase } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { at } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { HAWKSOFT_ENV, startTestHawkSoft } from './cases.ts'
import { event, message, PERSONAL, PushRig, SUBMISSION } from './rig.ts'
import { storing } from './storing.ts'

async function start(
  database: TestDatabase,
  own = '',
  settings = '',
  env: Env = {},
): Promise<{ hawksoft: HawkSoftEmulator; rig: PushRig }> {
  const hawksoft = await closedAtEnd(startTestHawkSoft())
  const where = `allow_private: true, allow_hosts: [127.0.0.1], settings: { base_url: "${hawksoft.url}", ${settings} }`
  const patient = 'schedule: [50ms, 50ms, 50ms, 50ms, 50ms], timeout: 3s, rps: 100'
  const rig = await PushRig.running(database, `{ name: hawksoft, preset: hawksoft, ${where}, ${patient}, ${own} }`, {
    ...HAWKSOFT_ENV,
    ...env,
  })
  return { hawksoft, rig }
}

describe.each(onSqlite)('HawkSoft ($name)', (database) => {
  it('gets nothing before the submission is mapped, and then a note for each event and message, in order', async () => {
    const { hawksoft, rig } = await start(database, `personal_fields: [${PERSONAL}]`)
    await rig.apply(event(1, { type: 'quote_received', detail: 'Premium 10,000 <b>& more</b>' }))
    await rig.apply(message(2))
    await rig.becomes('unmapped', 'unmapped')
    expect(hawksoft.arrived).toEqual([])

    await rig.map(SUBMISSION, '4711')
    const rows = await rig.becomes('delivered', 'delivered')
    expect(hawksoft.notes.map(({ refId }) => refId)).toEqual(rows.map(({ message_id: id }) => id))
    expect(hawksoft.notes[0]).toEqual({
      client: '4711',
      refId: rows[0]?.message_id,
      ts: at(1),
      channel: 32,
      policyId: null,
      text: [
        'Quote received: Market 1',
        'Lines: general_liability',
        'Category: binding',
        'Status: In progress',
        'Premium 10,000 ‹b›& more‹/b›',
        `At: ${at(1).replace('.000', '')}`,
        `Submission: ${SUBMISSION}`,
        `Reference: ${rows[0]?.message_id}`,
      ].join('\n'),
    })
    expect(hawksoft.notes[1]?.text).toContain('Received from the submission service: Update 2\nChannel: email\nText of message 2\n')
  })

  it('trap 73: gets directions from the brokerage’s side, and no personal column without opt-in', async () => {
    const { hawksoft, rig } = await start(database, '', 'text_as: description_body')
    await rig.map(SUBMISSION, '4711', 'a-policy')
    const written = [
      ['inbound', 'email'],
      ['outbound', 'email'],
      ['inbound', 'chat'],
      ['outbound', 'chat'],
    ]
    for (const [n, [direction, channel]] of written.entries()) await rig.apply(message(n, { direction, channel }))
    await rig.becomes('delivered', 'delivered', 'delivered', 'delivered')
    // Email and chat, to and from a third party.
    expect(hawksoft.notes.map(({ channel }) => channel)).toEqual([36, 40, 52, 56])
    expect(hawksoft.notes.map(({ text }) => text.split('\n').slice(0, 3).join('|'))).toEqual([
      'Sent to the submission service|Channel: email|Written by the brokerage itself.',
      expect.stringMatching(/^Received from the submission service\|Channel: email\|At: /),
      'Sent to the submission service|Channel: chat|Written by the brokerage itself.',
      expect.stringMatching(/^Received from the submission service\|Channel: chat\|At: /),
    ])
    expect(hawksoft.notes[0]?.policyId).toBe('a-policy')
    const sent = hawksoft.arrived.map(({ body }) => body).join()
    for (const personal of ['Text of message', 'Update', '@']) expect(sent).not.toContain(personal)
  })

  it('is never sent a note twice automatically: one with an unknown outcome is held for a person', async () => {
    const { hawksoft, rig } = await start(database)
    await rig.map(SUBMISSION, '4711')
    hawksoft.fail('lose', 'refuse')
    await rig.apply(event(1), event(2))
    const rows = await rig.becomes('unknown', 'delivered')
    expect(hawksoft.notes.map(({ refId }) => refId)).toEqual(rows.map(({ message_id: id }) => id))

    // The person didn't find it, and has it sent again, under the same reference.
    await retryRows(rig.db, { outboxIds: [rows[0]?.outbox_id ?? 0] }, 0, 10)
    await rig.becomes('delivered', 'delivered')
    expect(hawksoft.notes.filter(({ refId }) => refId === rows[0]?.message_id)).toHaveLength(2)
  })

  it('is suspended when the agency opts out, and gets the rest when it is resumed', async () => {
    const { hawksoft, rig } = await start(database)
    await rig.map(SUBMISSION, '4711')
    hawksoft.optOut()
    await rig.apply(event(1))
    await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
    expect((await rig.state())?.reason).toContain('answered 403')
    await rig.apply(event(2))
    await rig.becomes('waiting', 'waiting')

    hawksoft.optIn()
    await setDestinationState(rig.db, 'hawksoft', 'active', null)
    await rig.becomes('delivered', 'delivered')
    expect(hawksoft.notes).toHaveLength(2)
  })

  it('has taken what it queues, and refuses an unknown client for good', async () => {
    const { hawksoft, rig } = await start(database)
    await rig.map(SUBMISSION, '4711')
    hawksoft.goOffline()
    await rig.apply(event(1))
    expect(await rig.becomes('delivered')).toMatchObject([{ status: 202 }])
    await rig.map(SUBMISSION, '4712')
    await rig.apply(event(2))
    expect(await rig.becomes('delivered', 'dead')).toMatchObject([{}, { status: 404, attempts: 1 }])
  })

  it('answers a probe', async () => {
    const { hawksoft, rig } = await start(database)
    const signal = new AbortController().signal
    expect(await rig.kind.probe(signal)).toMatchObject({ ok: true })
    hawksoft.optOut()
    const text =
      'answered 403: the credentials are valid but lack the right for this request; ask the agency whether it still allows access'
    expect(await rig.kind.probe(signal)).toEqual({ ok: false, text })
    expect(hawksoft.notes).toEqual([])
  })
})

it('gets a document as a file of its client, and one with an unknown outcome is held for a person', async () => {
  const folder = newFolder()
  const own = 'entities: [documents], operations: [insert, update], documents: true, personal_fields: [documents.name]'
  const { hawksoft, rig } = await start(sqliteDatabase, own, '', { DOCUMENTS_DIR: folder })
  await rig.map(SUBMISSION, '4711')
  const store = storing(rig, folder, SUBMISSION)
  await store(1, '%PDF-1.7 the quote')
  const [, row] = await rig.becomes('skipped', 'delivered')
  expect(hawksoft.files).toEqual([
    {
      client: '4711',
      refId: row?.message_id,
      name: 'Quote 1 for Jane.pdf',
      note: `Quote 1 for Jane.pdf\nSubmission: ${SUBMISSION}\nReference: ${row?.message_id}`,
      content: '%PDF-1.7 the quote',
    },
  ])
  expect(hawksoft.notes).toEqual([])
  hawksoft.fail('lose')
  await store(2, '%PDF-1.7 another')
  await rig.becomes('skipped', 'delivered', 'skipped', 'unknown')
  expect(hawksoft.files).toHaveLength(2)
})
