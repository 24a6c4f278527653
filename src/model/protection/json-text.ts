/*
 * Finds the values of tax ids in JSON text without writing the rest anew: numbers, spaces, repeated keys and the order of keys stay as they
 * came. Text that is not JSON is searched as far as it resembles it.
 */

/** A part of the text that is replaced. */
interface Span {
  readonly start: number
  readonly end: number
  /** The new text; null: `replace` is asked. */
  readonly text: string | null
}

/** How values are found and replaced. */
export interface Rewriting {
  /** Whether what stands under the key is replaced. */
  readonly isKey: (key: string) => boolean
  /** @returns the JSON text in the place of a value's JSON text. */
  readonly replace: (value: string) => string
}

/** In an object that names a tax id under one of these keys … */
const NAMES = new Set(['key', 'question_key', 'fact_key', 'field_key', 'field', 'name', 'id', 'label', 'question', 'path', 'slug'])
/** … the value stands under one of these, or can be read from it. */
const VALUES = new Set(['value', 'values', 'raw_value', 'normalized_value', 'previous_value', 'default', 'answer', 'answers', 'text'])
for (const key of ['evidence', 'source_evidence', 'snippet', 'content_hash']) VALUES.add(key)

/** Whether `key` names the subject of an object, such as `question_key`. */
export function isName(key: string): boolean {
  return NAMES.has(key)
}

/** Whether `key` holds the value of an object's subject, or tells it. */
export function isValueOfNamed(key: string): boolean {
  return VALUES.has(key)
}

/** JSON text in strings is searched this deep. */
const MAX_NESTED_TEXTS = 4

/** @returns the text with values replaced; the same one when there is none. */
export function rewriteJsonText(text: string, rewriting: Rewriting, depth = 0): string {
  const spans = new Search(text, rewriting, depth).run()
  let written = ''
  let at = 0
  for (const { start, end, text: given } of outermost(spans)) {
    const value = text.slice(start, end)
    written += text.slice(at, start) + (given ?? rewriting.replace(value))
    at = end
  }
  return at === 0 ? text : written + text.slice(at)
}

/** @returns the spans that lie in no other, in order. */
function outermost(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.start - b.start || b.end - a.end)
  const kept: Span[] = []
  for (const span of sorted) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span)
  return kept
}

interface Container {
  readonly start: number
  readonly isObject: boolean
  /** The key whose value comes next; null: a key comes next. */
  key: string | null
  /** Whether a member names a tax id. */
  isOfTaxId: boolean
  readonly values: Span[]
}

class Search {
  readonly #text: string
  readonly #rewriting: Rewriting
  readonly #depth: number
  readonly #open: Container[] = []
  readonly #spans: Span[] = []

  constructor(text: string, rewriting: Rewriting, depth: number) {
    this.#text = text
    this.#rewriting = rewriting
    this.#depth = depth
  }

  run(): readonly Span[] {
    const text = this.#text
    for (let at = 0; at < text.length; ) {
      const start = at
      const char = text[at]
      if (char === '"') {
        at = endOfString(text, at)
        this.#string(start, at)
      } else if (char === '{' || char === '[') {
        at += 1
        this.#open.push({ start, isObject: char === '{', key: null, isOfTaxId: false, values: [] })
      } else if (char === '}' || char === ']') {
        at += 1
        this.#close(at)
      } else if (char === ',' || char === ':' || char === ' ' || char === '\n' || char === '\r' || char === '\t') at += 1
      else {
        at = endOfScalar(text, at)
        this.#value(start, at, null)
      }
    }
    return this.#spans
  }

  #close(end: number): void {
    const closed = this.#open.pop()
    if (closed === undefined) return
    if (closed.isOfTaxId) this.#spans.push(...closed.values)
    this.#value(closed.start, end, null)
  }

  #string(start: number, end: number): void {
    const around = this.#open.at(-1)
    const content = unquoted(this.#text.slice(start, end))
    if (around?.isObject && around.key === null) around.key = content
    else this.#value(start, end, content)
  }

  /** @param content of a string; null for any other value. */
  #value(start: number, end: number, content: string | null): void {
    const { isKey } = this.#rewriting
    const around = this.#open.at(-1)
    const span = { start, end, text: null }
    if (around?.isObject && around.key !== null) {
      const { key } = around
      around.key = null
      if (isKey(key)) this.#spans.push(span)
      else if (isValueOfNamed(key)) around.values.push(span)
      else if (content !== null && isName(key) && isKey(content)) around.isOfTaxId = true
    }
    if (content !== null) this.#jsonIn(content, span)
  }

  /** A string may hold JSON text. */
  #jsonIn(content: string, span: Span): void {
    if (this.#depth >= MAX_NESTED_TEXTS || !/^\s*[[{]/.test(content)) return
    const written = rewriteJsonText(content, this.#rewriting, this.#depth + 1)
    if (written !== content) this.#spans.push({ ...span, text: JSON.stringify(written) })
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return text.length
    let slashes = 0
    while (text[quote - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}

const SCALAR = /[^\s,:{}[\]"]+/y

function endOfScalar(text: string, start: number): number {
  SCALAR.lastIndex = start
  return SCALAR.test(text) ? SCALAR.lastIndex : start + 1
}

function unquoted(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted) as string
  } catch {
    return quoted.slice(1, -1)
  }
}
