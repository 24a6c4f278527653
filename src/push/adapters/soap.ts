import type { Json } from '../../model/json.ts'
import { type Answer, answered, type Failure, isSuccess, refused, StepFailure, unclear } from '../contract/outcomes.ts'
import { xmlText } from '../http/xml.ts'
import { type StepRequest, type Steps, withoutEffect } from './adapter.ts'

const ENVELOPE = 'http://schemas.xmlsoap.org/soap/envelope/'
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/** One call of SOAP 1.1, document style. */
export interface SoapCall {
  readonly url: string
  /** Value of the `SOAPAction` header. */
  readonly action: string
  /** Elements of the envelope's header, as `xmlText` takes them; null: none. */
  readonly header: Json
  /** The one element of the envelope's body. */
  readonly body: Json
}

/** An envelope in an answer. */
export interface SoapReply {
  readonly status: number
  readonly isFault: boolean
  /** @returns whether there is an element of this name, whatever its prefix. */
  has(element: string): boolean
  /** @returns the text of the first element of this name, whatever its prefix; null when there is none, or it holds elements. */
  text(element: string): string | null
  /** @returns what `text` would for each element of this name. */
  texts(element: string): readonly string[]
}

/**
 * Makes a call, with `query` or `submit` of `steps`.
 * @returns the envelope of the answer, which may be a fault.
 * @throws StepFailure when there is no answer, or no complete envelope in it.
 */
export async function callSoap(steps: Steps, way: 'query' | 'submit', call: SoapCall): Promise<SoapReply> {
  const answer = await steps[way](requestOf(call))
  const reply = replyOf(answer)
  if (reply !== null) return reply
  // The service reports faults in an envelope. Any other answer with these statuses does not tell what was done, and a proxy or gateway
  // that answers in its place refuses nothing permanently.
  const isUnclear = isSuccess(answer.status) || answer.status === 500
  const lack = answer.cut === null ? 'with no SOAP envelope' : `its answer ${answer.cut.text}`
  const failure: Failure = isUnclear ? unclear(answer, `it ${answered(answer)}, but ${lack}`) : refused(answer)
  throw new StepFailure(way === 'query' || failure.type === 'failed' ? withoutEffect(failure) : failure)
}

function requestOf({ url, action, header, body }: SoapCall): StepRequest {
  const envelope = { '@xmlns:s': ENVELOPE, 's:Header': header, 's:Body': body }
  const headers = { 'content-type': 'text/xml; charset=utf-8', soapaction: `"${action}"`, accept: 'text/xml' }
  return { method: 'POST', url, headers, body: xmlText({ 's:Envelope': envelope }) }
}

function replyOf({ status, body, cut }: Answer): SoapReply | null {
  if (cut !== null || !opening('Envelope').test(body) || !/<\/(?:[\w.-]+:)?Envelope\s*>\s*$/.test(body)) return null
  return {
    status,
    isFault: opening('Fault').test(body),
    has: (element) => opening(element).test(body),
    text: (element) => textsOf(body, element)[0] ?? null,
    texts: (element) => textsOf(body, element),
  }
}

function opening(element: string): RegExp {
  return new RegExp(`<(?:[\\w.-]+:)?${element}(?:\\s[^<>]*)?/?>`)
}

/** Only text without CDATA, comments or inner elements. */
function textsOf(body: string, element: string): string[] {
  const found = body.matchAll(new RegExp(`<(?:[\\w.-]+:)?${element}(?:\\s(?:[^<>]*[^<>/])?)?>([^<]*)</`, 'g'))
  return Array.from(found, ([, text = '']) => text.replace(/&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(\w+));/g, decoded).trim())
}

function decoded(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return ENTITIES[name] ?? whole
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}
