import type { FastifyReply } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import type { Fault, FaultContext, FaultInjector } from '../service/faults.ts'
import { Refusal } from '../service/refusal.ts'
import type { Unshown } from '../service/unshown.ts'

/** An answer, before faults change it. */
export interface Answer {
  readonly status: number
  /** Bytes are sent unchanged, other values as JSON. */
  readonly body: unknown
  /** Default: JSON. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Condition of an error. */
  readonly condition?: ConditionName
}

declare module 'fastify' {
  interface FastifyReply {
    /** Condition of an error; undefined for a success or a fault. */
    condition?: ConditionName
  }
}

/** @returns an error: an object with `detail`. */
export function errorAnswer(status: number, detail: unknown): Answer {
  return { status, body: { detail } }
}

/** @returns the error of a refusal, with the status of its condition. */
export function refusalAnswer({ condition, detail, headers }: Refusal, unshown: Unshown): Answer {
  return { status: unshown.status(condition), body: { detail }, headers, condition }
}

const answerFaults = ['status', 'html', 'cut', 'hang', 'slow'] as const

const HTML = '<!doctype html><html><head><title>Maintenance</title></head><body><h1>We will be right back</h1></body></html>'
const EXCESS_BYTES = 512

export function send(reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.condition) reply.condition = answer.condition
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .type(answer.contentType ?? 'application/json')
    .send(bytesOf(answer))
}

function bytesOf({ body }: Answer): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
}

interface AnswerSources {
  readonly faults: FaultInjector
  readonly clock: Clock
  readonly unshown: Unshown
}

/** Computes an answer. A Refusal becomes an error. */
export type Compute = () => Answer | Promise<Answer>

async function computed(compute: Compute, unshown: Unshown): Promise<Answer> {
  try {
    return await compute()
  } catch (error) {
    if (error instanceof Refusal) return refusalAnswer(error, unshown)
    throw error
  }
}

/** Sends the answer of `compute`, changed by the first matching fault. */
export async function answer(reply: FastifyReply, context: FaultContext, sources: AnswerSources, compute: Compute): Promise<FastifyReply> {
  const nowMs = serviceTime(reply, context, sources)
  const fault = sources.faults.draw(answerFaults, context)
  switch (fault?.kind) {
    case undefined:
      return send(reply, await computed(compute, sources.unshown))
    case 'status':
      return sendStatus(reply, fault, nowMs)
    case 'html':
      return reply.code(200).type('text/html').send(HTML)
    case 'slow':
      await sources.clock.sleep(fault.ms)
      return send(reply, await computed(compute, sources.unshown))
    case 'cut':
      return cut(reply, await computed(compute, sources.unshown))
    case 'hang':
      return hang(reply, fault.ms, sources.clock)
  }
}

/** Sets a wrong `date` header for the fault `clock_skew`. @returns the service's time, ms since the epoch. */
export function serviceTime(reply: FastifyReply, context: FaultContext, { faults, clock }: AnswerSources): number {
  const skew = faults.draw(['clock_skew'], context)
  const nowMs = clock.now() + (skew?.ms ?? 0)
  // Sets the raw header, because a cut answer bypasses Fastify's headers.
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
