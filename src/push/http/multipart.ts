import { randomUUID } from 'node:crypto'
import { PermanentError } from '../../base/errors.ts'
import { isObject, type Json } from '../../model/json.ts'

/**
 * Encodes fields as multipart/form-data. A field is text, a number or a boolean; or an object of `file` (text, such as a document's mark),
 * `name` and `type`. A list repeats its field, null leaves it out.
 * @throws PermanentError when a field is something else.
 */
export function multipart(value: Json): { readonly text: string; readonly contentType: string } {
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

/** As HTML says it. */
function quoted(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
