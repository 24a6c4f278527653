import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Outcome } from '../contract/delivery.ts'
import { type Answer, answered, type Failure, refusal, refused, throttled } from '../contract/outcomes.ts'

/** Pause in ms after throttling, if the answer requests none. The limits of a queue apply per second. */
const PAUSE_MS = 1_000

const REASON_LENGTH = 300

const THROTTLED = new Set([
  'KMS.ThrottlingException',
  'KmsThrottled',
  'OverLimit',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
])

const KEY =
  'the queue rejects the credentials; check queue.access_key_id, queue.secret_access_key and queue.region, or the role of this machine'
const RIGHTS = 'the credentials may not send; allow sqs:SendMessage and sqs:GetQueueAttributes on the queue'
const QUEUE = 'the queue cannot be used at this address; compare queue.url with the URL in the AWS console'
const ENCRYPTION = "the queue's encryption key cannot be used; enable the key, and allow kms:GenerateDataKey and kms:Decrypt on it"

/** Error codes that affect every message, each with the text that says how to fix the cause. */
const STOPS: Readonly<Record<string, string>> = {
  AccessDenied: RIGHTS,
  AccessDeniedException: RIGHTS,
  NotAuthorized: RIGHTS,
  IncompleteSignature: KEY,
  IncompleteSignatureException: KEY,
  InvalidAccessKeyId: KEY,
  InvalidClientTokenId: KEY,
  InvalidSignatureException: KEY,
  MissingAuthenticationToken: KEY,
  MissingAuthenticationTokenException: KEY,
  OptInRequired: KEY,
  SignatureDoesNotMatch: KEY,
  UnrecognizedClientException: KEY,
  InvalidAddress: QUEUE,
  NonExistentQueue: QUEUE,
  QueueDeletedRecently: QUEUE,
  QueueDoesNotExist: QUEUE,
  InvalidSecurity: QUEUE,
  UnsupportedOperation: QUEUE,
  // KMS error codes of the queue's older interface, which the SDK still returns, and of the newer interface.
  'KMS.AccessDeniedException': ENCRYPTION,
  'KMS.DisabledException': ENCRYPTION,
  'KMS.InvalidKeyUsageException': ENCRYPTION,
  'KMS.InvalidStateException': ENCRYPTION,
  'KMS.NotFoundException': ENCRYPTION,
  'KMS.OptInRequired': ENCRYPTION,
  KmsAccessDenied: ENCRYPTION,
  KmsDisabled: ENCRYPTION,
  KmsInvalidKeyUsage: ENCRYPTION,
  KmsInvalidState: ENCRYPTION,
  KmsNotFound: ENCRYPTION,
  KmsOptInRequired: ENCRYPTION,
}

/**
 * Errors about the signature's time. These errors are temporary, although their status means a rejection: the SDK
 * corrects its clock before it signs the next attempt.
 */
const PASSES = /^(?:Expired|RequestExpired|RequestTimeTooSkewed|RequestInTheFuture)/
/** Matches the reason of an answer that rejects the signature because of the clock. */
const CLOCK = /signature (?:expired|not yet current)/i

/**
 * @returns the outcome of an error that the queue answered.
 * @param code the queue's error code. Older queues add the prefix `AWS.SimpleQueueService.`.
 * @param idempotent whether duplicates are harmless.
 */
export function judged(code: string, answer: Answer, idempotent: boolean): Failure {
  const name = code.replace(/^AWS\.SimpleQueueService\./, '')
  if (THROTTLED.has(name)) return throttled(answer, PAUSE_MS)
  const error = answered(answer)
  const { status } = answer
  if (PASSES.test(name) || CLOCK.test(answer.reason ?? '')) return { ...refusal(answer), permanent: false, error }
  const stop = STOPS[name]
  if (stop !== undefined) return { type: 'suspend', retry: 'soon', status, error: `${stop}; the queue ${error}` }
  return refused(answer, idempotent)
}

/** @returns the outcome of one rejected message of a batch. */
export function judgedEntry({ Code = 'unknown', Message = '', SenderFault = false }: BatchResultErrorEntry, idempotent: boolean): Outcome {
  // The error of one message has no HTTP status. Uses the status that a whole request with the same error has.
  const status = SenderFault ? 400 : 500
  const reason = reasonOf(Message === '' ? Code : `${Code}: ${Message}`)
  const answer: Answer = { type: 'answer', status, headers: {}, body: '', cut: null, retryAfterMs: null, reason }
  return judged(Code, answer, idempotent)
}

/** @returns an error text of the queue, shortened and without secrets. */
export function reasonOf(text: string): string {
  return withoutSecretWords(text).slice(0, REASON_LENGTH)
}
