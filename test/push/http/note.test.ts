import { expect, it } from 'vitest'
import { viewOf } from '../../../src/push/http/build-request.ts'
import { noteOf } from '../../../src/push/http/note.ts'
import { itemOf } from './support.ts'

const note = (own: Parameters<typeof itemOf>[0], most?: number) => noteOf(viewOf(itemOf(own), {}, null), most)
const TAIL = `At: 2026-03-04T05:06:07Z\nSubmission: ${itemOf().submissionId}\nReference: ${itemOf().messageId}`

it('says what an event is, about which market, and when it happened', () => {
  const market = { market_name: 'Acme', market_lines: ['gl', 'wc'], status: 'open', status_label: null }
  const after = { type: 'quote_received', ...market, detail: '<b>', category: null, occurred_at: '2026-03-04T01:02:03.000000Z' }
  expect(note({ after })).toEqual({
    title: 'Quote received: Acme',
    body: `Lines: gl, wc\nStatus: open\n<b>\n${TAIL.replace('05:06:07', '01:02:03')}`,
    at: '2026-03-04T01:02:03Z',
  })
})

it('trap 73: says the direction of a message from the brokerage’s side', () => {
  const message = { entity: 'thread_messages', after: { subject: 'Loss\n runs', channel: 'chat', direction: 'inbound', body_text: 'Hi' } }
  expect(note({ ...message, direction: 'sent', echo: true })).toMatchObject({
    title: 'Sent to the submission service: Loss runs',
    body: `Channel: chat\nWritten by the brokerage itself.\nHi\n${TAIL}`,
  })
  expect(note({ ...message, direction: 'received', after: {} })).toMatchObject({
    title: 'Received from the submission service',
    body: TAIL,
  })
})

it('says each column of any other record, and of what was changed later', () => {
  const after = { account: 'a', chip: 'bound', lines: ['gl'], bound: true, raw: {}, gapped: null }
  const body = `chip: bound\nlines: ["gl"]\nbound: true\n${TAIL}`
  expect(note({ entity: 'lanes', after })).toMatchObject({ title: 'Lanes (insert)', body })
  const later = { title: 'Changed: Market events', body: `detail: Later\n${TAIL}` }
  expect(note({ operation: 'update', after: { detail: 'Later' } })).toMatchObject(later)
  expect(note({ operation: 'gone', after: null })).toMatchObject({ title: 'Market events (gone)', body: TAIL })
})

it('cuts long text, but never its last lines or half a character', () => {
  expect(note({ after: { type: 'x', detail: 'abc😀def' } }, 4).body).toBe(`abc… (cut)\n${TAIL}`)
})

it('accepts only a change', () => {
  for (const other of [undefined, 'text', {}]) expect(() => noteOf(other)).toThrow('$note needs a change; write $note($$)')
})
