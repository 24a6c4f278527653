import { isObject } from '../model/json.ts'
import type { CollidingProgram } from './schemas/errors.ts'
import type { ApplicationSection } from './schemas/workspace.ts'

export interface ErrorAnswer {
  readonly status: number
  /**
   * Error code: the field `code` or `error` of the body or of its `detail`, or `detail` itself if it is only a code.
   * Null if the answer has no code.
   */
  readonly code: string | null
  /** Field `detail` of the body: a text, a list, an object, or undefined. */
  readonly detail: unknown
  /** The body as parsed JSON, or as text if it isn't JSON. */
  readonly body: unknown
  /** `Retry-After` in seconds from now; null if missing. */
  readonly retryAfterS: number | null
}

/** An error answer of the service. Some errors have their own subclass. */
export class ServiceError extends Error implements ErrorAnswer {
  readonly status: number
  readonly code: string | null
  readonly detail: unknown
  readonly body: unknown
  readonly retryAfterS: number | null

  constructor(what: string, { status, code, detail, body, retryAfterS }: ErrorAnswer) {
    super(`${what} was answered ${status}${code === null ? '' : ` (${code})`}${inWords(detail)}`)
    this.name = new.target.name
    this.status = status
    this.code = code
    this.detail = detail
    this.body = body
    this.retryAfterS = retryAfterS
  }
}

interface Problem {
  readonly loc?: readonly (string | number)[]
  readonly msg?: string
  readonly type?: string
}

/** 422: the request is invalid. */
export class ValidationError extends ServiceError {
  get problems(): readonly Problem[] {
    if (Array.isArray(this.detail)) return this.detail.filter(isObject) as Problem[]
    return typeof this.detail === 'string' ? [{ msg: this.detail }] : []
  }
}

/** 401: the token is missing, wrong or expired, and could not be renewed. */
export class Unauthenticated extends ServiceError {}

/** 403: not allowed with this scope, role, or kind of session. */
export class Forbidden extends ServiceError {}

/** 404: the object doesn't exist, or belongs to another brokerage. */
export class NotFound extends ServiceError {}

/** 429: too many requests. */
export class RateLimited extends ServiceError {}

/** 409 `service_file_exists`: a live submission for the same insured exists. */
export class FileExists extends ServiceError {
  get submissionId(): string | null {
    return textIn(this, 'submission_id')
  }

  /** Programs in `partner_program_ids` that collide with a live submission. Empty without `mode: rater`. */
  get programs(): readonly CollidingProgram[] {
    return listIn(this, 'programs') as CollidingProgram[]
  }
}

/** 409 `assumptions_unconfirmed`: the draft waits until the agent confirms its assumptions. */
export class AssumptionsUnconfirmed extends ServiceError {
  get bindRequestId(): string | null {
    return textIn(this, 'bind_request_id')
  }

  get assumptions(): readonly { readonly key: string; readonly label: string; readonly value?: unknown }[] {
    const named = ['unconfirmed_assumptions', 'assumptions'].map((name) => listIn(this, name))
    return (named.find((list) => list.length > 0) ?? []) as { key: string; label: string }[]
  }
}

/** The command is based on an older state of the application. `application` is the current state. */
export class StaleApplication extends ServiceError {
  get application(): ApplicationSection {
    return valueIn(this, 'application') as ApplicationSection
  }
}

/** The application is being saved. Send the command again, after `retryAfterS` seconds if this is set. */
export class Busy extends ServiceError {}

/** 409: the quote is superseded, or its lane is already being bound. */
export class NotBindable extends ServiceError {}

/** The answer violates the specification. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer'
}

/**
 * No complete answer arrived. If `sent` is `no`, the request didn't reach the service and can be repeated. If `sent` is
 * `maybe`, the service may have processed the request.
 */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly sent: 'no' | 'maybe'

  constructor(what: string, sent: 'no' | 'maybe', cause: unknown) {
    super(`${what} got no answer (${reasonOf(cause)}); ${sent === 'no' ? 'it was not sent' : 'it may have arrived'}`, { cause })
    this.sent = sent
  }
}

/** A user must log in. */
export class LoginNeeded extends Error {
  override readonly name = 'LoginNeeded'
}

type ErrorClass = new (what: string, answer: ErrorAnswer) => ServiceError

/**
 * Error classes by code. The status doesn't identify the error: 409 has several meanings, and the status for a
 * busy application isn't specified.
 */
const byCode: Readonly<Record<string, ErrorClass>> = {
  service_file_exists: FileExists,
  assumptions_unconfirmed: AssumptionsUnconfirmed,
  application_busy: Busy,
  application_command_rejected: ServiceError,
}

const byStatus: Readonly<Record<number, ErrorClass>> = {
  401: Unauthenticated,
  403: Forbidden,
  404: NotFound,
  422: ValidationError,
  429: RateLimited,
}

/**
 * @param what the request's method and path, such as `POST /x`.
 * @param isBind whether a 409 with an unknown code becomes NotBindable.
 */
export function serviceError(what: string, answer: ErrorAnswer, isBind: boolean): ServiceError {
  const known = answer.code === null ? undefined : byCode[answer.code]
  if (known) return new known(what, answer)
  if (isObject(valueIn(answer, 'application'))) return new StaleApplication(what, answer)
  if (isBind && answer.status === 409) return new NotBindable(what, answer)
  return new (byStatus[answer.status] ?? ServiceError)(what, answer)
}

/**
 * Whether a retry may succeed: no answer arrived, the answer has `Retry-After` (trap 50), or its status is temporary
 * (trap 51).
 */
export function mayPassLater(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return error instanceof Unreachable
  return error.retryAfterS !== null || error.status === 429 || error.status >= 500
}

/** @returns a field of `detail` or of the body. The specification doesn't say which of them contains the field. */
function valueIn({ body, detail }: Pick<ErrorAnswer, 'body' | 'detail'>, name: string): unknown {
  return (isObject(detail) ? detail[name] : undefined) ?? (isObject(body) ? body[name] : undefined)
}

function textIn(answer: ErrorAnswer, name: string): string | null {
  const value = valueIn(answer, name)
  return typeof value === 'string' ? value : null
}

function listIn(answer: ErrorAnswer, name: string): unknown[] {
  const value = valueIn(answer, name)
  return Array.isArray(value) ? value : []
}

const LONGEST = 300

function inWords(detail: unknown): string {
  const text =
    typeof detail === 'string' ? detail : isObject(detail) ? detail['message'] : Array.isArray(detail) ? problemsIn(detail) : undefined
  return typeof text === 'string' && text !== '' ? `: ${text.slice(0, LONGEST)}` : ''
}

function problemsIn(list: readonly unknown[]): string {
  return list
    .filter(isObject)
    .map(({ loc, msg }) => `${Array.isArray(loc) ? `${loc.join('.')}: ` : ''}${String(msg)}`)
    .join('; ')
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const inner = cause.cause
  return inner instanceof Error && inner.message !== '' ? inner.message : cause.message
}
