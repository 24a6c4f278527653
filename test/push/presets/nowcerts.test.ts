import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { nowcerts } from './cases.ts'
import { describeNotes, startNotes } from './notes-suite.ts'
import { event, SUBMISSION } from './rig.ts'

describeNotes('NowCerts', nowcerts)

it('dead-letters a change immediately that NowCerts rejects in a 200, with its reason', async () => {
  const { rig } = await startNotes(nowcerts, sqliteDatabase)
  await rig.map(SUBMISSION, uuid(20, 2))
  await rig.apply(event(1))
  const [row] = await rig.becomes('dead')
  expect(row).toMatchObject({ attempts: 1, status: 200 })
  expect(row?.error).toContain('The insured was not found')
})

it('gets a value that arrives later as a reply to the note, once, on the policy of the map', async () => {
  const { target, rig } = await startNotes(nowcerts, sqliteDatabase, 'personal_fields: [market_events.detail]')
  await rig.map(SUBMISSION, nowcerts.client, uuid(21, 1))
  await rig.apply(event(1))
  await rig.becomes('delivered')
  target.fail('lose')
  await rig.apply(event(1, { detail: 'They need <loss> runs' }))
  const rows = await rig.becomes('delivered', 'delivered')
  const [first, reply] = target.notes
  expect(target.notes).toHaveLength(2)
  expect(reply).toMatchObject({ parent: first?.id, policy: uuid(21, 1), text: expect.stringContaining('detail: They need ‹loss› runs\n') })
  expect(rows.map(({ remote_id: id }) => id)).toEqual([first?.id, first?.id])
})

it('asks for the password once: the last refresh token brings the next token, in the next process too', async () => {
  const { target, rig } = await startNotes(nowcerts, sqliteDatabase)
  for (const n of [1, 2, 3]) {
    await rig.apply(event(n))
    await rig.becomes(...Array<string>(n).fill('delivered'))
    target.revokeTokens()
    await rig.restart()
  }
  expect(target.grants).toEqual({ password: 1, refresh: 2 })
})
