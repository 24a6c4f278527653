import type { FastifyReply } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { ConditionName } from '../../client/openapi/conditions.ts'
import type { Fault, FaultContext, FaultInjector } from '../service/faults.ts'
import { Refusal } from '../service/refusal.ts'
import type { Unshown } from '../service/unshown.ts'

/** An answer, before a fault changes it. */
export interface Answer {
  readonly status: number
  /** Bytes are sent unchanged. Other values are sent as JSON. */
  readonly body: unknown
  /** Media type. Default: `application/json`. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Name of the error in `conditions.ts`; undefined for a success. */
  readonly condition?: ConditionName
}

declare module 'fastify' {
  interface FastifyReply {
    /** Name of the error in `conditions.ts`; undefined for a success or a fault. */
    condition?: ConditionName
  }
}

/** @returns an error answer. Its body is an object with `detail`. */
export function errorAnswer(status: number, detail: unknown): Answer {
  return { status, body: { detail } }
}

/** @returns the error answer of a refusal. The refusal's condition decides the status. */
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

/** Computes an answer. If the function throws a Refusal, the answer is the refusal's error answer. */
export type Compute = () => Answer | Promise<Answer>

async function computed(compute: Compute, unshown: Unshown): Promise<Answer> {
  try {
    return await compute()
  } catch (error) {
    if (error instanceof Refusal) return refusalAnswer(error, unshown)
    throw error
  }
}

/** Sends the answer of `compute`. The first matching fault changes or replaces the answer. */
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

/**
 * Applies the fault `clock_skew`, which sends a wrong `date` header.
 * @returns the time that the service claims, in ms since the epoch.
 */
export function serviceTime(reply: FastifyReply, context: FaultContext, { faults, clock }: AnswerSources): number {
  const skew = faults.draw(['clock_skew'], context)
  const nowMs = clock.now() + (skew?.ms ?? 0)
  // Sets the header on the raw response, because the fault `cut` bypasses Fastify's headers.
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
