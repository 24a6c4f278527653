import { expect, test } from 'vitest'
import { noteText } from '../../../src/push/ams360/notes.ts'
import { itemOf } from '../http/support.ts'

test('a note contains the columns that have a value, except client and submission', () => {
  const { submissionId, messageId } = itemOf()
  const after = { account: 'acme', submission_id: submissionId, type: 'quote_received', amount: null, is_final: false }
  const lines = [
    `Submission ${submissionId}: market_events insert`,
    'type: quote_received',
    'is_final: false',
    `submission-mirror ${messageId}`,
  ]
  expect(noteText(itemOf({ after }), 1_000).split('\n')).toEqual(lines)
})

test('a note about a filled column names the record, because its own columns do not', () => {
  const item = itemOf({ operation: 'update', after: { status_label: 'Filled' } })
  expect(noteText(item, 1_000).split('\n')[0]).toBe(`Submission ${item.submissionId}: market_events update of e1`)
  const submission = itemOf({
    operation: 'update',
    entity: 'submissions',
    entityId: JSON.stringify([item.submissionId]),
    after: { state: 'TX' },
  })
  expect(noteText(submission, 1_000).split('\n')[0]).toBe(`Submission ${item.submissionId}: submissions update`)
})

test('a note about a record that left the filter says so, with any columns', () => {
  const item = itemOf({ operation: 'update', after: {}, leftFilter: true })
  expect(noteText(item, 1_000).split('\n')[1]).toBe('This record no longer matches the filter of the destination.')
})

test('a note about a message states its direction once, from the agency’s side', () => {
  const message = itemOf({ entity: 'thread_messages', direction: 'sent', after: { direction: 'inbound', channel: 'email' } })
  const lines = [`Submission ${message.submissionId}: thread_messages insert, sent by the agency`, 'channel: email']
  expect(noteText(message, 1_000).split('\n').slice(0, -1)).toEqual(lines)
  expect(noteText({ ...message, direction: null }, 1_000)).toContain('direction: inbound')
})

test('a note that is too long is cut, says so, and keeps our id; one that just fits stays whole', () => {
  const item = itemOf({ after: { detail: 'x'.repeat(50) } })
  const whole = noteText(item, 1_000)
  const end = `\nsubmission-mirror ${item.messageId}`
  const length = whole.length - end.length
  expect(noteText(item, length)).toBe(whole)
  expect(noteText(item, length - 1)).toBe(`${whole.slice(0, length - 1)}… (cut)${end}`)
})

test('a cut note ends with a whole character', () => {
  const item = itemOf({ after: { detail: '😀'.repeat(50) } })
  for (const length of [100, 101]) expect(noteText(item, length)).toMatch(/😀… \(cut\)$/m)
})
