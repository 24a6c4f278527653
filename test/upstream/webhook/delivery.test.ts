import { expect, it } from 'vitest'
import { readDelivery } from '../../../src/upstream/webhook/delivery.ts'
import { uuid, wireEvent, wireMessage } from '../../tools/observations.ts'

const MARK = Buffer.from([0xef, 0xbb, 0xbf])
const submission_id = uuid(9, 1)

it.each([
  { type: 'submission.message', submission_id, message: wireMessage(1, { subject: '\ufeffkept where it is text' }) },
  { type: 'submission.events', submission_id, events: [wireEvent(1)] },
])('a byte order mark at the beginning of a body of $type is ignored', (body) => {
  const text = Buffer.from(JSON.stringify(body))
  const plain = readDelivery(text)
  expect(plain).toMatchObject({ isJson: true, type: body.type, submissionIds: [submission_id] })
  expect(readDelivery(Buffer.concat([MARK, text]))).toEqual(plain)
})

it('one byte order mark alone, or two, are not JSON', () => {
  for (const body of [MARK, Buffer.concat([MARK, MARK, Buffer.from('{}')])]) expect(readDelivery(body).isJson).toBe(false)
})

it('raw keeps numbers that a double would change', () => {
  const sent = (value: unknown) => JSON.stringify(value).replaceAll('"#"', '1E400')
  const event = wireEvent(1, { odd: [{ n: '#' }] })
  const message = wireMessage(1, { odd: { n: '#' } })
  const read = (body: unknown) => readDelivery(Buffer.from(sent(body)))
  expect(read({ type: 'submission.events', data: [{ submission_id, event }] }).events[0]?.event.raw).toBe(sent(event))
  expect(read({ type: 'submission.message', submission_id, message }).message?.message.message.raw).toBe(sent(message))
})

it('invariant 11: other values under submission_id are searched for ids', () => {
  for (const odd of [[submission_id], { id: submission_id.toUpperCase() }, { submission_id: [submission_id] }]) {
    const read = readDelivery(Buffer.from(JSON.stringify({ type: 'submission.events', submission_id: odd })))
    expect(read).toMatchObject({ submissionIds: [], otherIds: [submission_id] })
  }
  const plain = readDelivery(Buffer.from(JSON.stringify({ type: 'submission.events', submission_id })))
  expect(plain).toMatchObject({ submissionIds: [submission_id], otherIds: [] })
})
