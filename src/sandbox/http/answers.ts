import type { FastifyReply } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { Fault, FaultBook, Occasion } from '../service/faults.ts'

/** An answer of the API before any fault touches it. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** @returns an error in the service's manner: a `detail` field. */
export function refusal(status: number, detail: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: { detail }, headers }
}

/** @returns the documented 422: `detail` is a list of objects with `loc`, `msg` and `type`. */
export function invalid(problems: readonly { loc: readonly string[]; msg: string; type: string }[]): Answer {
  return refusal(422, problems)
}

/** The kinds of fault that spoil an answer as a whole. */
const answerFaults = ['status', 'html', 'cut', 'hang', 'slow'] as const

const HTML = '<!doctype html><html><head><title>Maintenance</title></head><body><h1>We will be right back</h1></body></html>'
/** By how much a cut answer's declared length exceeds what is sent. */
const MISSING_BYTES = 512

/** Sends `answer` as it is. */
export function send(reply: FastifyReply, answer: Answer): FastifyReply {
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .type('application/json')
    .send(JSON.stringify(answer.body))
}

/** What an answer depends on besides what is asked. */
export interface Weather {
  readonly faults: FaultBook
  readonly clock: Clock
}

/** Sends the right answer, which `compute` gives, or what the faults make of it. */
export async function answer(reply: FastifyReply, occasion: Occasion, weather: Weather, compute: () => Answer): Promise<FastifyReply> {
  const nowMs = tellTime(reply, occasion, weather)
  const fault = weather.faults.draw(answerFaults, occasion)
  switch (fault?.kind) {
    case undefined:
      return send(reply, compute())
    case 'status':
      return sendStatus(reply, fault, nowMs)
    case 'html':
      return reply.code(200).type('text/html').send(HTML)
    case 'slow':
      await weather.clock.sleep(fault.ms)
      return send(reply, compute())
    case 'cut':
      return cut(reply, compute())
    case 'hang':
      return hang(reply, fault.ms, weather.clock)
  }
}

/** Gives the answer the `date` of a clock that is wrong, when that fault is on. @returns the time that the service believes it is. */
export function tellTime(reply: FastifyReply, occasion: Occasion, { faults, clock }: Weather): number {
  const skew = faults.draw(['clock_skew'], occasion)
  const nowMs = clock.now() + (skew?.ms ?? 0)
  // Not by Fastify's own headers, which an answer that is cut does not bear.
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
  const body = Buffer.from(JSON.stringify(answer.body))
  reply.hijack()
  reply.raw.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': body.length + MISSING_BYTES })
  reply.raw.write(body.subarray(0, Math.ceil(body.length / 2)), () => reply.raw.destroy())
  return reply
}

async function hang(reply: FastifyReply, ms: number, clock: Clock): Promise<FastifyReply> {
  const gone = new AbortController()
  reply.hijack()
  reply.raw.once('close', () => gone.abort())
  await clock.sleep(ms, gone.signal)
  reply.raw.destroy()
  return reply
}
