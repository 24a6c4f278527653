import { expect, it } from 'vitest'
import type { Answer } from '../../../src/push/contract/outcomes.ts'
import { judged, judgedEntry } from '../../../src/push/sqs/judge.ts'

const answer = (status: number, reason: string): Answer => ({
  type: 'answer',
  status,
  headers: {},
  body: '',
  cut: null,
  retryAfterMs: null,
  reason,
})

it.each([
  ['ThrottlingException', 400, { type: 'throttled', retryAfterMs: 1_000 }],
  ['RequestThrottled', 403, { type: 'throttled' }],
  ['OverLimit', 403, { type: 'throttled' }],
  ['InvalidClientTokenId', 403, { type: 'suspend' }],
  ['AccessDenied', 403, { type: 'suspend' }],
  ['QueueDoesNotExist', 400, { type: 'suspend' }],
  ['KmsDisabled', 400, { type: 'suspend' }],
  ['KMS.AccessDeniedException', 400, { type: 'suspend' }],
  ['KMS.OptInRequired', 403, { type: 'suspend' }],
  ['KMS.ThrottlingException', 400, { type: 'throttled' }],
  ['ExpiredTokenException', 403, { type: 'failed', permanent: false, alive: true }],
  ['InvalidMessageContents', 400, { type: 'failed', permanent: true, alive: true }],
  ['ServiceUnavailable', 503, { type: 'failed', permanent: false, alive: false }],
  ['ServiceUnavailable', 502, { type: 'failed', permanent: false, alive: false }],
])('means by %s with %i', (code, status, outcome) => {
  expect(judged(code, answer(status, code), true)).toMatchObject(outcome)
})

it('does not know whether a message was taken that a gateway answered for, where it must not arrive twice', () => {
  expect(judged('', answer(502, ''), false)).toMatchObject({ type: 'unknown' })
})

it('is not suspended by a signature that came too late: the clock is corrected, and the request signed again', () => {
  const late = answer(403, 'SignatureDoesNotMatch: Signature expired: 20260101T000000Z is now earlier than 20260101T001500Z')
  expect(judged('SignatureDoesNotMatch', late, true)).toMatchObject({ type: 'failed', permanent: false })
})

it.each([
  [
    { Id: '0', Code: 'InvalidParameterValue', SenderFault: true },
    { type: 'failed', permanent: true, status: 400 },
  ],
  [
    { Id: '0', Code: 'InternalError', SenderFault: false, Message: 'later' },
    { type: 'failed', permanent: false, status: 500, alive: false },
  ],
  [{ Id: '0', Code: 'AWS.SimpleQueueService.RequestThrottled', SenderFault: true }, { type: 'throttled' }],
  [{ Id: '0', Code: 'KmsThrottled', SenderFault: true }, { type: 'throttled' }],
  [{ Id: '0', Code: 'KMS.ThrottlingException', SenderFault: true }, { type: 'throttled' }],
  [{ Id: '0', Code: 'KMS.DisabledException', SenderFault: true }, { type: 'suspend' }],
])('judges each message of a batch separately: %o', (entry, outcome) => {
  expect(judgedEntry(entry, true)).toMatchObject(outcome)
})
