import { expect, it } from 'vitest'
import { changeMessage } from '../../../src/push/contract/change-message.ts'
import { queueMessage } from '../../../src/push/sqs/message.ts'
import { itemOf } from '../http/support.ts'

it('counts the bytes of its body and its attribute', () => {
  const item = itemOf()
  const { bytes } = queueMessage(item, true)
  expect(bytes).toBe(Buffer.byteLength(changeMessage(item)) + 'message-id'.length + 'String'.length + item.messageId.length)
})

it('escapes characters that a queue rejects, without changing the value', () => {
  const detail = 'a\ufffeb\uffffc\ud800d\u0001e\u{1f600}f\u{1fffe}'
  const afterText = `{"detail":"a\ufffeb\uffffc\ud800d\\u0001e\u{1f600}f\u{1fffe}"}`
  const { entry } = queueMessage(itemOf({ after: { detail }, afterText }), true)
  expect(entry.MessageBody).toMatch(/^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u)
  expect(entry.MessageBody).toContain(String.raw`"a\ufffeb\uffffc\ud800d\u0001e`)
  expect(JSON.parse(entry.MessageBody ?? '').data.after).toEqual({ detail })
})

it.each([
  ['of an account, for what belongs to no submission', null, /^acme$/],
  ['hashed when it is too long', 's'.repeat(124), /^[0-9a-f]{64}$/],
  ['as it is, up to 128 characters', 's'.repeat(123), /^acme\/s{123}$/],
  ['hashed when it holds a character that a group may not have', 'sub mission', /^[0-9a-f]{64}$/],
])('has a group %s', (_, submissionId, group) => {
  expect(queueMessage(itemOf({ submissionId }), true).entry.MessageGroupId).toMatch(group)
})
