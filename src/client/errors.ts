import { isObject } from '../model/json.ts'
import type { CollidingProgram } from './schemas/errors.ts'
import type { ApplicationSection } from './schemas/workspace.ts'

/** What an error answer says of itself. */
export interface ErrorAnswer {
  readonly status: number
  /** From `code`, `detail.code`, `error`, or a `detail` that is a code alone; null when none is there. */
  readonly code: string | null
  /** `detail` as it came: a text, a list, an object, or undefined. */
  readonly detail: unknown
  /** The whole body, parsed when it is JSON, else its text. */
  readonly body: unknown
  /** What `Retry-After` asks for, in seconds from now; null without it. */
  readonly retryAfterS: number | null
}

/** The service answered with an error. Its classes below say which; this one stands for every other. */
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

/** One problem of a 422: where, what, and which kind. Its fields are missing where the service leaves them out. */
export interface Problem {
  readonly loc?: readonly (string | number)[]
  readonly msg?: string
  readonly type?: string
}

/** 422: what was sent is not valid. */
export class ValidationError extends ServiceError {
  /** What `detail` lists; a text becomes the only problem. */
  get problems(): readonly Problem[] {
    if (Array.isArray(this.detail)) return this.detail.filter(isObject) as Problem[]
    return typeof this.detail === 'string' ? [{ msg: this.detail }] : []
  }
}

/** 401: the token is missing, wrong or expired, and no other could be had. */
export class Unauthenticated extends ServiceError {}

/** 403: the scope, the role or the kind of session does not allow it. */
export class Forbidden extends ServiceError {}

/** 404: it is not there, or belongs to another brokerage. */
export class NotFound extends ServiceError {}

/** 429: too much was asked. */
export class RateLimited extends ServiceError {}

/** 409 `service_file_exists`: a live submission for the same insured exists. */
export class FileExists extends ServiceError {
  get submissionId(): string | null {
    return textIn(this, 'submission_id')
  }

  /** The programs that collide, of the caller's own rater submissions. */
  get programs(): readonly CollidingProgram[] {
    return listIn(this, 'programs') as CollidingProgram[]
  }
}

/** 409 `assumptions_unconfirmed`: the draft is kept until the agent confirms them. */
export class AssumptionsUnconfirmed extends ServiceError {
  get bindRequestId(): string | null {
    return textIn(this, 'bind_request_id')
  }

  get assumptions(): readonly { readonly key: string; readonly label: string; readonly value?: unknown }[] {
    const named = ['unconfirmed_assumptions', 'assumptions'].map((name) => listIn(this, name))
    return (named.find((list) => list.length > 0) ?? []) as { key: string; label: string }[]
  }
}

/** The command was made for an older state of the application; `application` is the current one. */
export class StaleApplication extends ServiceError {
  get application(): ApplicationSection {
    return valueIn(this, 'application') as ApplicationSection
  }
}

/** The application is being saved: the same operation may be repeated after `retryAfterS`. */
export class Busy extends ServiceError {}

/** The quote was superseded, or its lane is being bound already. */
export class NotBindable extends ServiceError {}

/** The service answered something that the specification does not allow for. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer'
}

/** No answer came. `sent` is `no` when the request surely did not reach the service, so that it may be repeated. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
  readonly sent: 'no' | 'maybe'

  constructor(what: string, sent: 'no' | 'maybe', cause: unknown) {
    super(`${what} got no answer (${reasonOf(cause)}); ${sent === 'no' ? 'it was not sent' : 'it may have arrived'}`, { cause })
    this.sent = sent
  }
}

/** No token can be had: a person has to log in. */
export class LoginNeeded extends Error {
  override readonly name = 'LoginNeeded'
}

type ErrorClass = new (what: string, answer: ErrorAnswer) => ServiceError

/** By their codes, for "409 has at least four meanings" and busy has no status. */
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
 * @param what the request, as `POST /broker/submissions`.
 * @param isBind whether a 409 without a known code says that a quote cannot be bound.
 */
export function serviceError(what: string, answer: ErrorAnswer, isBind: boolean): ServiceError {
  const known = answer.code === null ? undefined : byCode[answer.code]
  if (known) return new known(what, answer)
  if (isObject(valueIn(answer, 'application'))) return new StaleApplication(what, answer)
  if (isBind && answer.status === 409) return new NotBindable(what, answer)
  return new (byStatus[answer.status] ?? ServiceError)(what, answer)
}

/**
 * Whether the same request may succeed later: there was no answer, or its header tells so, whatever the status (trap 50), else the class of
 * the status (trap 51).
 */
export function mayPassLater(error: unknown): boolean {
  if (!(error instanceof ServiceError)) return error instanceof Unreachable
  return error.retryAfterS !== null || error.status === 429 || error.status >= 500
}

/** A field that stands in the body or in its `detail`: the specification does not say which. */
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
