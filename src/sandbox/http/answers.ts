import type { FastifyReply } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { Fault, FaultContext, FaultInjector } from '../service/faults.ts'
import { Refusal } from '../service/refusal.ts'

/** An answer of the API, before faults. */
export interface Answer {
  readonly status: number
  /** Bytes go as they are, anything else as JSON. */
  readonly body: unknown
  /** Default: JSON. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** @returns an error in the service's form: an object with `detail`. */
export function errorAnswer(status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: { detail }, headers }
}

/** @returns the 422 of the spec: `detail` is a list of objects with `loc`, `msg` and `type`. */
export function validationError(problems: readonly { loc: readonly string[]; msg: string; type: string }[]): Answer {
  return errorAnswer(422, problems)
}

/** Kinds of fault that affect a whole answer. */
const answerFaults = ['status', 'html', 'cut', 'hang', 'slow'] as const

const HTML = '<!doctype html><html><head><title>Maintenance</title></head><body><h1>We will be right back</h1></body></html>'
/** How much the declared length of a cut answer exceeds the full body. */
const EXCESS_BYTES = 512

/** Sends an answer without faults. */
export function send(reply: FastifyReply, answer: Answer): FastifyReply {
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .type(answer.contentType ?? 'application/json')
    .send(bytesOf(answer))
}

function bytesOf({ body }: Answer): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
}

export interface FaultSources {
  readonly faults: FaultInjector
  readonly clock: Clock
}

/** Computes an answer. It may throw a Refusal, which is answered as an error. */
export type Compute = () => Answer | Promise<Answer>

/** @returns what `compute` answers, or the error of the Refusal that it throws. */
export async function computed(compute: Compute): Promise<Answer> {
  try {
    return await compute()
  } catch (error) {
    if (error instanceof Refusal) return errorAnswer(error.status, error.detail, error.headers)
    throw error
  }
}

/** Sends the answer of `compute`, changed by the first fault that applies. */
export async function answer(reply: FastifyReply, context: FaultContext, weather: FaultSources, compute: Compute): Promise<FastifyReply> {
  const nowMs = serviceTime(reply, context, weather)
  const fault = weather.faults.draw(answerFaults, context)
  switch (fault?.kind) {
    case undefined:
      return send(reply, await computed(compute))
    case 'status':
      return sendStatus(reply, fault, nowMs)
    case 'html':
      return reply.code(200).type('text/html').send(HTML)
    case 'slow':
      await weather.clock.sleep(fault.ms)
      return send(reply, await computed(compute))
    case 'cut':
      return cut(reply, await computed(compute))
    case 'hang':
      return hang(reply, fault.ms, weather.clock)
  }
}

/** Sets a wrong `date` header when the fault `clock_skew` applies. @returns the service's time, ms since the epoch. */
export function serviceTime(reply: FastifyReply, context: FaultContext, { faults, clock }: FaultSources): number {
  const skew = faults.draw(['clock_skew'], context)
  const nowMs = clock.now() + (skew?.ms ?? 0)
  // On the raw response, because a cut answer bypasses Fastify's headers.
  if (skew) reply.raw.setHeader('date', new Date(nowMs).toUTCString())
  return nowMs
}

function sendStatus(reply: FastifyReply, fault: Extract<Fault, { kind: 'status' }>, nowMs: number): FastifyReply {
  reply.code(fault.status)
  if (fault.retryAfterSeconds !== undefined) {
    const { retryAfterSeconds: seconds } = fault
    reply.header('retry-after', fault.retryAfterAs === 'date' ? new Date(nowMs + seconds * 1000).toUTCString() : String(seconds))
  }
  if (fault.body === 'html') return reply.type('text/html').send(HTML)
  if (fault.body === 'empty') return reply.send()
  return reply.type('application/json').send(JSON.stringify({ detail: `fault: ${fault.status}` }))
}

function cut(reply: FastifyReply, answer: Answer): FastifyReply {
  const body = bytesOf(answer)
  reply.hijack()
  reply.raw.writeHead(answer.status, {
    'content-type': answer.contentType ?? 'application/json',
    'content-length': body.length + EXCESS_BYTES,
  })
  reply.raw.write(body.subarray(0, Math.ceil(body.length / 2)), () => reply.raw.destroy())
  return reply
}

async function hang(reply: FastifyReply, ms: number, clock: Clock): Promise<FastifyReply> {
  const closed = new AbortController()
  reply.hijack()
  reply.raw.once('close', () => closed.abort())
  await clock.sleep(ms, closed.signal)
  reply.raw.destroy()
  return reply
}
