import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Outcome } from '../contract/delivery.ts'
import { type Answer, answered, type Failure, refusal, refused, throttled } from '../contract/outcomes.ts'

/** Default pause after throttling without a duration. A queue's limits are per second. */
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

const KEY = 'it refuses the credentials; check queue.access_key_id, queue.secret_access_key and queue.region, or the role of this machine'
const RIGHTS = 'the credentials may not send; allow sqs:SendMessage and sqs:GetQueueAttributes on the queue'
const QUEUE = 'the queue cannot be used by this address; compare queue.url with what the console of AWS shows'
const ENCRYPTION = "the queue's own key for encryption cannot be used; allow kms:GenerateDataKey and kms:Decrypt on it, and enable it"

/** Errors that affect every message, and how to fix them. */
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
  // Codes of the queue's older interface, which the SDK repeats, and of the newer one.
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

/** Temporary despite a rejecting status: the next attempt is signed again with a corrected clock. */
const PASSES = /^(?:Expired|RequestExpired|RequestTimeTooSkewed|RequestInTheFuture)/
/** Matches the message for a signature rejected because of the clock. */
const CLOCK = /signature (?:expired|not yet current)/i

/** @param code a queue's error; older queues send the service's old name. @param idempotent whether duplicates are harmless. */
export function judged(code: string, answer: Answer, idempotent: boolean): Failure {
  const name = code.replace(/^AWS\.SimpleQueueService\./, '')
  if (THROTTLED.has(name)) return throttled(answer, PAUSE_MS)
  const error = `it ${answered(answer)}`
  const { status } = answer
  if (PASSES.test(name) || CLOCK.test(answer.reason ?? '')) return { ...refusal(answer), permanent: false, error }
  const stop = STOPS[name]
  if (stop !== undefined) return { type: 'suspend', retry: 'soon', status, error: `${stop}: ${error}` }
  return refused(answer, idempotent)
}

/** Judges the error of one message in a batch. */
export function judgedEntry({ Code = 'unknown', Message = '', SenderFault = false }: BatchResultErrorEntry, idempotent: boolean): Outcome {
  // An entry has no status. A whole request with the same error has this one.
  const status = SenderFault ? 400 : 500
  const reason = reasonOf(Message === '' ? Code : `${Code}: ${Message}`)
  const answer: Answer = { type: 'answer', status, headers: {}, body: '', cut: null, retryAfterMs: null, reason }
  return judged(Code, answer, idempotent)
}

/** @returns the queue's text without secrets, shortened. */
export function reasonOf(text: string): string {
  return withoutSecretWords(text).slice(0, REASON_LENGTH)
}
