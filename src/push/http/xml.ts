import { PermanentError } from '../../base/errors.ts'
import { isObject, type Json } from '../../model/json.ts'

const NAME = /^[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?$/
/** Characters that XML 1.0 forbids, even in escaped form. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
  '\n': '&#10;',
  '\t': '&#9;',
}
const MAX_DEPTH = 64

/**
 * Encodes an object with one key as an XML document. Keys become elements, in order. `@name` becomes an attribute.
 * `#text` becomes the text of an element with attributes. A list repeats its element. Null omits the element. Values
 * are escaped.
 * @throws PermanentError if a key isn't an XML name, or if there isn't exactly one root.
 */
export function xmlText(document: Json): string {
  const roots = isObject(document) ? Object.entries(document as Record<string, Json>) : []
  const [root] = roots
  if (root === undefined || roots.length > 1 || root[1] === null || Array.isArray(root[1]))
    throw new PermanentError('an XML body must have exactly one root element')
  return `<?xml version="1.0" encoding="utf-8"?>${element(root[0], root[1], 0)}`
}

function element(name: string, value: Json, depth: number): string {
  if (depth > MAX_DEPTH) throw new PermanentError('the XML body is nested too deeply')
  if (value === null) return ''
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => element(name, item, depth + 1)).join('')
  if (!isObject(value)) return `<${checked(name)}>${escaped(value, /[&<>\r]/g)}</${name}>`
  let attributes = ''
  let content = ''
  for (const [key, part] of Object.entries(value as Record<string, Json>)) {
    if (key === '#text') content += part === null ? '' : escaped(part, /[&<>\r]/g)
    else if (key.startsWith('@')) attributes += attribute(key.slice(1), part)
    else content += element(key, part, depth + 1)
  }
  return `<${checked(name)}${attributes}>${content}</${name}>`
}

function attribute(name: string, value: Json): string {
  return value === null ? '' : ` ${checked(name)}="${escaped(value, /[&<>"\r\n\t]/g)}"`
}

function escaped(value: Json, special: RegExp): string {
  if (typeof value === 'object') throw new PermanentError('text and attributes of an XML body cannot be lists or objects')
  return String(value)
    .toWellFormed()
    .replace(FORBIDDEN, '\ufffd')
    .replace(special, (character) => ESCAPES[character] ?? character)
}

function checked(name: string): string {
  if (!NAME.test(name)) throw new PermanentError(`${JSON.stringify(name)} is not a valid name of an XML element or attribute`)
  return name
}
