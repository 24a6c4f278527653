import { describe, expect, it } from 'vitest'
import type { NotesEmulator } from '../../emulators/server.ts'
import { onSqlite, type TestDatabase } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { event, message, PERSONAL, PushRig, SUBMISSION } from './rig.ts'

/** A preset that makes a note of each change, and its emulator. */
export interface NotesCase<E extends NotesEmulator> {
  readonly preset: string
  readonly env: Readonly<Record<string, string>>
  readonly start: () => Promise<E>
  readonly where: (emulator: E) => string
  readonly client: string
  readonly stranger: string
  readonly fields?: (client: string) => Readonly<Record<string, string>>
  /** Whether a rejected token is replaced. */
  readonly hasTokens: boolean
}

export interface NotesScene<E> {
  readonly target: E
  readonly rig: PushRig
}

/** Starts the emulator, and the destination of the preset. @param own keys before those of the preset. @param client of the submission. */
export async function startNotes<E extends NotesEmulator>(
  of: NotesCase<E>,
  database: TestDatabase,
  own = '',
  client: string | null = of.client,
): Promise<NotesScene<E>> {
  const target = await closedAtEnd(of.start())
  const timeout = own.includes('timeout:') ? '' : 'timeout: 3s,'
  const patient = `${timeout} lookup_after: 1ms, schedule: [${Array(10).fill('50ms').join()}], rps: 100, allow_private: true, allow_hosts: [127.0.0.1]`
  const destination = `{ name: ams, preset: ${of.preset}, ${of.where(target)}, ${patient}, ${own} }`
  const rig = await PushRig.start(database, destination, { SHUTDOWN_GRACE: '1s', ...of.env })
  if (of.fields !== undefined) rig.fieldsOf = of.fields
  await rig.track(SUBMISSION)
  if (client !== null) await rig.map(SUBMISSION, client)
  await rig.run()
  return { target, rig }
}

export function describeNotes<E extends NotesEmulator>(name: string, of: NotesCase<E>): void {
  describe.each(onSqlite)(`${name} ($name)`, (database) => {
    it('gets nothing before the submission is mapped, and then a note for each event and message, in order', async () => {
      const { target, rig } = await startNotes(of, database, `personal_fields: [${PERSONAL}]`, null)
      await rig.apply(event(1, { type: 'quote_received', detail: 'Premium 10,000 & more' }), message(2, { subject: 'Loss runs' }))
      await rig.becomes('unmapped', 'unmapped')
      expect(target.arrived).toEqual([])

      await rig.map(SUBMISSION, of.client)
      const rows = await rig.becomes('delivered', 'delivered')
      expect(target.notes.map(({ client }) => client)).toEqual([of.client, of.client])
      expect(rows.map(({ remote_id: id }) => id)).toEqual(target.notes.map(({ id }) => id))
      const [first, second] = target.notes.map(({ text }) => text)
      for (const part of ['Quote received: Market 1', 'Premium 10,000', SUBMISSION, `Reference: ${rows[0]?.message_id}`])
        expect(first).toContain(part)
      for (const part of ['Received from the submission service: Loss runs', 'Text of message 2']) expect(second).toContain(part)
    })

    it('trap 73: gets directions from the brokerage’s side, and no personal column without opt-in', async () => {
      const { target, rig } = await startNotes(of, database)
      await rig.apply(message(1, { direction: 'inbound' }), message(2, { direction: 'outbound' }))
      await rig.becomes('delivered', 'delivered')
      expect(target.notes[0]?.text).toContain('Sent to the submission service')
      expect(target.notes[1]?.text).toContain('Received from the submission service')
      const sent = target.arrived.map(({ body }) => body).join()
      for (const personal of ['Text of message', 'Update 1', 'service.example']) expect(sent).not.toContain(personal)
    })

    it('has each note once, despite any faults', async () => {
      const { target, rig } = await startNotes(of, database)
      target.fail(...(['lose', 'take', 'drop', 'take', 'hang', 'take', 'refuse', 'take', 'busy', 'take', 'fall', 'take', 'page'] as const))
      for (let n = 1; n <= 5; n += 1) await rig.apply(event(n))
      await rig.becomes(...Array<string>(5).fill('delivered'))
      if (of.hasTokens) target.revokeTokens()
      for (let n = 6; n <= 10; n += 1) await rig.apply(event(n))
      const rows = await rig.becomes(...Array<string>(10).fill('delivered'))
      expect(target.left()).toBe(0)
      expect(target.notes.map(({ text }) => /Reference: (\S{36})/.exec(text)?.[1])).toEqual(rows.map(({ message_id: id }) => id))
      expect(rows.map(({ remote_id: id }) => id)).toEqual(target.notes.map(({ id }) => id))
    })

    it('has a note once whose attempt was aborted, after it had been taken', async () => {
      const { target, rig } = await startNotes(of, database, 'timeout: 1m')
      target.fail('hang')
      await rig.apply(event(1))
      await until('it has the note', () => target.notes.length === 1)
      await rig.restart()
      await rig.becomes('delivered')
      expect(target.notes).toHaveLength(1)
    })

    it('is verified: a deleted note is found and sent again, a changed one is reported', async () => {
      const { target, rig } = await startNotes(of, database)
      await rig.apply(event(1), event(2), event(3), message(4))
      const sent = await rig.becomes(...Array<string>(4).fill('delivered'))
      expect(await rig.verify()).toMatchObject({ delivered: 4, asked: 4, has: 4, isWhole: true, changes: [] })

      const [, lost, changed] = target.notes.map(({ id, text }) => ({ id, text }))
      target.remove(lost?.id ?? '')
      target.rewrite(changed?.id ?? '', `${changed?.text} and an edit`)
      const found = await rig.verify({ repair: true })
      expect(found).toMatchObject({ asked: 4, has: 2, lacks: 1, differs: 1, undetermined: 0, repaired: 1 })
      expect(found.changes.map(({ row, result, isRepaired }) => [row.messageId, result, isRepaired])).toEqual([
        [sent[1]?.message_id, 'lacks', true],
        [sent[2]?.message_id, 'differs', false],
      ])
      await rig.becomes(...Array<string>(5).fill('delivered'))
      expect(target.notes).toHaveLength(4)
      expect(target.notes.at(-1)?.text).toContain(`Reference: ${sent[1]?.message_id}`)
      expect(await rig.verify()).toMatchObject({ delivered: 4, has: 3, differs: 1, lacks: 0 })
    })

    it('is reported when it was emptied, and waited for when it requests a pause', async () => {
      const { target, rig } = await startNotes(of, database)
      await rig.apply(event(1))
      await rig.becomes('delivered')
      target.failReads('busy')
      expect(await rig.verify()).toMatchObject({ asked: 1, has: 1 })
      expect((await rig.state())?.state).toBe('active')
      target.rewrite(target.notes[0]?.id ?? '', '')
      expect(await rig.verify()).toMatchObject({ asked: 1, differs: 1, undetermined: 0 })
    })

    it('cannot be determined from a lost answer, a late one, an error or a foreign page, and nothing is sent again then', async () => {
      const { target, rig } = await startNotes(of, database, 'timeout: 1s')
      await rig.apply(event(1), event(2), event(3), event(4))
      await rig.becomes(...Array<string>(4).fill('delivered'))
      target.remove(target.notes[0]?.id ?? '')
      target.failReads('drop', 'page', 'hang', 'refuse')
      const found = await rig.verify({ repair: true })
      expect(found).toMatchObject({ asked: 4, has: 0, lacks: 0, differs: 0, undetermined: 4, repaired: 0 })
      for (const { error } of found.changes) expect(error).toMatch(/the lookup failed/)
      expect(await rig.outbox()).toHaveLength(4)
    })

    it('is suspended when it takes the access away', async () => {
      const { target, rig } = await startNotes(of, database)
      target.withdraw()
      await rig.apply(event(1))
      await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
      expect(target.notes).toEqual([])
      expect(await rig.kind.probe(new AbortController().signal)).toMatchObject({ ok: false })
    })

    it('answers a probe, and refuses a client that it does not have', async () => {
      const { target, rig } = await startNotes(of, database)
      expect(await rig.kind.probe(new AbortController().signal)).toMatchObject({ ok: true })
      await rig.map(SUBMISSION, of.stranger)
      await rig.apply(event(1))
      await rig.becomes('dead')
      expect(target.notes).toEqual([])
    })
  })
}
