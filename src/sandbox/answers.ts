import type { FastifyReply } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Fault, FaultBook, Occasion } from './faults.ts'

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
export const answerFaults = ['status', 'html', 'cut', 'hang', 'slow'] as const
export type AnswerFault = Extract<Fault, { kind: (typeof answerFaults)[number] }>

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

/** Gives the answer a `date` of a clock that is wrong, when that fault is on. */
export function skewDate(reply: FastifyReply, faults: FaultBook, occasion: Occasion, clock: Clock): void {
  const skew = faults.draw(['clock_skew'], occasion)
  if (skew) reply.header('date', new Date(clock.now() + skew.ms).toUTCString())
}

/** Sends what `fault` makes of an answer. `compute` gives the right one, for the faults that need it. */
export async function spoil(reply: FastifyReply, fault: AnswerFault, compute: () => Answer, clock: Clock): Promise<FastifyReply> {
  switch (fault.kind) {
    case 'status':
      return sendStatus(reply, fault, clock)
    case 'html':
      return reply.code(200).type('text/html').send(HTML)
    case 'slow':
      await clock.sleep(fault.ms)
      return send(reply, compute())
    case 'cut':
      return cut(reply, compute())
    case 'hang':
      return hang(reply, fault.ms, clock)
  }
}

function sendStatus(reply: FastifyReply, fault: Extract<AnswerFault, { kind: 'status' }>, clock: Clock): FastifyReply {
  reply.code(fault.status)
  if (fault.retryAfterSeconds !== undefined) {
    const { retryAfterSeconds: seconds } = fault
    reply.header('retry-after', fault.retryAfterAs === 'date' ? new Date(clock.now() + seconds * 1000).toUTCString() : String(seconds))
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
