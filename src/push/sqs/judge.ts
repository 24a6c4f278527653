import type { BatchResultErrorEntry } from '@aws-sdk/client-sqs'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Outcome } from '../contract/delivery.ts'
import { type Answer, answered, type Failure, refusal, refused, throttled } from '../contract/outcomes.ts'

/** Pause after an answer that asks for one without saying how long. Limits of a queue are by the second. */
const PAUSE_MS = 1_000

/** Longest reason that is repeated. */
const REASON_LENGTH = 300

/** It has had too much of it for now. */
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

/** What no message can be sent with, and what to do. */
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
  // As the queue's older interface names them, which the SDK repeats, and as the newer one does.
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

/** Passes by itself, though its status is that of a refusal: the next attempt is signed anew, by a clock that was corrected. */
const PASSES = /^(?:Expired|RequestExpired|RequestTimeTooSkewed|RequestInTheFuture)/
/** As a refused signature says so. */
const CLOCK = /signature (?:expired|not yet current)/i

/**
 * @param code the error that a queue answered a request with; an older one bears the old name of the service.
 * @param idempotent whether the same message may arrive twice without harm.
 */
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

/** Judges the error of one message of a batch that was answered. */
export function judgedEntry({ Code = 'unknown', Message = '', SenderFault = false }: BatchResultErrorEntry, idempotent: boolean): Outcome {
  // An entry has no status: that of the same error of a whole request.
  const status = SenderFault ? 400 : 500
  const reason = reasonOf(Message === '' ? Code : `${Code}: ${Message}`)
  const answer: Answer = { type: 'answer', status, headers: {}, body: '', cut: null, retryAfterMs: null, reason }
  return judged(Code, answer, idempotent)
}

/** @returns what a queue said, as far as it may be repeated. */
export function reasonOf(text: string): string {
  return withoutSecretWords(text).slice(0, REASON_LENGTH)
}
