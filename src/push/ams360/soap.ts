import type { Json } from '../../model/json.ts'
import { type Answer, answered, type Failure, isSuccess, refused, StepFailure, unclear, withoutEffect } from '../contract/outcomes.ts'
import { xmlText } from '../http/xml.ts'
import type { StepRequest, Steps } from './steps.ts'

const ENVELOPE = 'http://schemas.xmlsoap.org/soap/envelope/'
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/** One call of SOAP 1.1, in document style. */
export interface SoapCall {
  readonly url: string
  readonly action: string
  /** Elements of the envelope's header, as input for `xmlText`. */
  readonly header: Json
  /** The single element of the envelope's body. */
  readonly body: Json
}

/** The envelope of an answer. Element names are compared without namespace prefixes. */
export interface SoapReply {
  readonly status: number
  readonly isFault: boolean
  has(element: string): boolean
  /** @returns the text of the first element with this name that contains only text; null if there is none. */
  text(element: string): string | null
  texts(element: string): readonly string[]
}

/**
 * Sends a call.
 * @returns the envelope of the answer, which may be a fault.
 * @throws StepFailure if no answer or no complete envelope arrives.
 */
export async function callSoap(steps: Steps, way: 'query' | 'submit', call: SoapCall): Promise<SoapReply> {
  const answer = await steps[way](requestOf(call))
  const reply = replyOf(answer)
  if (reply !== null) return reply
  // AMS360 sends an envelope with 2xx and 500. If such an answer has no complete envelope, AMS360 may still have
  // processed the request, so the outcome is unclear.
  const isUnclear = isSuccess(answer.status) || answer.status === 500
  const lack = answer.cut === null ? 'without a SOAP envelope' : `the answer ${answer.cut.text}`
  const failure: Failure = isUnclear ? unclear(answer, `${answered(answer)}, but ${lack}`) : refused(answer)
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

/** Reads elements that contain only text. Skips elements with CDATA, comments, or inner elements. */
function textsOf(body: string, element: string): string[] {
  const found = body.matchAll(new RegExp(`<(?:[\\w.-]+:)?${element}(?:\\s(?:[^<>]*[^<>/])?)?>([^<]*)</`, 'g'))
  return Array.from(found, ([, text = '']) => text.replace(/&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(\w+));/g, decoded).trim())
}

function decoded(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return ENTITIES[name] ?? whole
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
}
