import { randomUUID } from 'node:crypto'
import { PermanentError } from '../../base/errors.ts'
import type { RequestTemplate } from '../../config/config.ts'
import { isObject, type Json } from '../../model/json.ts'
import { xmlText } from './xml.ts'

/** `contentType` is the format's default. A header of the request can override it. */
export interface EncodedBody {
  readonly text: string
  readonly contentType: string
}

const MAX_BYTES = 8 * 1024 * 1024

/**
 * Encodes the body of a request. Templates yield values, never encoded text, so escaping can't go wrong.
 * @throws PermanentError if the value doesn't fit the format, or is too long.
 */
export function encodeBody(format: RequestTemplate['format'], value: Json): EncodedBody {
  if (value === null) throw new PermanentError('the body expression returned nothing')
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
      if (typeof value !== 'string') throw new PermanentError('with format file, the body must be document.file')
      return { text: value, contentType: 'application/octet-stream' }
  }
}

/** Encodes a form. A list repeats its field. Null omits the field. */
function formText(value: Json): string {
  if (!isObject(value)) throw new PermanentError('a form must be an object of fields')
  const form = new URLSearchParams()
  for (const [name, field] of Object.entries(value as Record<string, Json>)) {
    for (const item of Array.isArray(field) ? (field as readonly Json[]) : [field]) {
      if (typeof item === 'object' && item !== null) throw new PermanentError(`the field ${name} of the form is not text`)
      if (item !== null) form.append(name, String(item))
    }
  }
  return form.toString()
}

/**
 * Encodes a multipart form. A field is text, a number, a boolean, or an object with `file`, `name`, and `type`. `file`
 * is text, usually the mark that a document's bytes replace. A list repeats its field. Null omits the field.
 * @throws PermanentError for any other field.
 */
function multipart(value: Json): { readonly text: string; readonly contentType: string } {
  if (!isObject(value)) throw new PermanentError('a multipart body must be an object of fields')
  const boundary = `part-${randomUUID()}`
  const parts = Object.entries(value as Record<string, Json>).flatMap(([name, field]) =>
    (Array.isArray(field) ? (field as readonly Json[]) : [field]).filter((item) => item !== null).map((item) => partOf(name, item)),
  )
  const text = `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join('')}--${boundary}--\r\n`
  return { text, contentType: `multipart/form-data; boundary=${boundary}` }
}

function partOf(name: string, field: Json): string {
  const disposition = `Content-Disposition: form-data; name="${quoted(name)}"`
  if (!isObject(field)) return `${disposition}\r\n\r\n${String(field)}`
  const { file, name: fileName = 'document', type = 'application/octet-stream' } = field as Record<string, Json>
  if (typeof file !== 'string' || typeof fileName !== 'string' || typeof type !== 'string' || !/^[\w.+-]+\/[\w.+-]+$/.test(type))
    throw new PermanentError(`the field ${name} is neither text nor a file with file, name and type`)
  return `${disposition}; filename="${quoted(fileName)}"\r\nContent-Type: ${type}\r\n\r\n${file}`
}

/** Escapes quotation marks and line breaks as the HTML standard does. */
function quoted(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
