import { PermanentError } from '../../base/errors.ts'
import type { RequestTemplate } from '../../config/config.ts'
import { isObject, type Json } from '../../model/json.ts'
import { multipart } from './multipart.ts'
import { xmlText } from './xml.ts'

/** An encoded body, and the content type of its format unless a header overrides it. */
export interface EncodedBody {
  readonly text: string
  readonly contentType: string
}

/** Longest body that is sent. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Encodes the value of a body's expression. Templates yield values, never encoded text, so nothing can be escaped wrongly.
 * @throws PermanentError when the value does not fit the format, or is too long.
 */
export function encodeBody(format: RequestTemplate['format'], value: Json): EncodedBody {
  if (value === null) throw new PermanentError('the body yields nothing')
  const encoded = encode(format, value)
  if (Buffer.byteLength(encoded.text) > MAX_BYTES) throw new PermanentError(`the body is longer than ${MAX_BYTES} bytes`)
  return encoded
}

function encode(format: RequestTemplate['format'], value: Json): EncodedBody {
  switch (format) {
    case 'json':
      return { text: JSON.stringify(value), contentType: 'application/json' }
    case 'xml':
      return { text: xmlText(value), contentType: 'application/xml; charset=utf-8' }
    case 'form':
      return { text: formText(value), contentType: 'application/x-www-form-urlencoded' }
    case 'multipart':
      return multipart(value)
    case 'file':
      if (typeof value !== 'string') throw new PermanentError('the body of format file yields no document.file')
      return { text: value, contentType: 'application/octet-stream' }
  }
}

/** @param value an object. A list repeats its field; null leaves it out. */
function formText(value: Json): string {
  if (!isObject(value)) throw new PermanentError('a form must be an object of fields')
  const form = new URLSearchParams()
  for (const [name, field] of Object.entries(value as Record<string, Json>)) {
    for (const item of Array.isArray(field) ? (field as readonly Json[]) : [field]) {
      if (typeof item === 'object' && item !== null) throw new PermanentError(`the form's field ${name} is no text`)
      if (item !== null) form.append(name, String(item))
    }
  }
  return form.toString()
}
