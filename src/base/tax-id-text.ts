import { hasFormOfTaxId, isNameListKey, isOptionsKey, isOwnSubjectKey, isSubjectKey, isValueKey, type TaxIdKeys } from './tax-ids.ts'

/*
 * Replaces the values of tax ids in JSON text and leaves every other character as received: numbers, spaces, repeated keys. Text that is
 * not JSON is searched as far as it resembles it.
 */

/** A part of the text to replace. */
interface Span {
  readonly start: number
  readonly end: number
  /** New text. If null, call `replace`. */
  readonly text: string | null
  /** Whether the value is a list item. */
  readonly isListed?: boolean
}

export interface Rewriting {
  readonly keys: Pick<TaxIdKeys, 'has' | 'isName'>
  /** @returns JSON text that replaces a value's JSON text. */
  readonly replace: (value: string) => string
}

export interface Around {
  /** Key of the text. */
  readonly key?: string | undefined
  /** Whether the text's object names a tax id. */
  readonly isOfTaxId?: boolean
}

/** @returns JSON text with values replaced; the same text if nothing is replaced. */
export function rewriteJsonText(text: string, rewriting: Rewriting, around: Around = {}): string {
  const spans = new Search(text, rewriting, around).run()
  let written = ''
  let at = 0
  for (const { start, end, text: given } of outermost(spans)) {
    const value = text.slice(start, end)
    written += text.slice(at, start) + (given ?? rewriting.replace(value))
    at = end
  }
  return at === 0 ? text : written + text.slice(at)
}

/** `rewriteJsonText` for text that may contain JSON, or JSON with escaped quotes. */
export function rewriteWords(words: string, rewriting: Rewriting, around: Around = {}): string {
  const bracket = words.search(/[[{]/)
  if (bracket === -1) return words
  ESCAPED.lastIndex = bracket
  if (!ESCAPED.test(words)) return words.slice(0, bracket) + rewriteJsonText(words.slice(bracket), rewriting, around)
  let quote = words.lastIndexOf('"', bracket)
  while (/["\\]/.test(words[quote - 1] ?? '')) quote -= 1
  if (quote !== -1) return words.slice(0, quote) + rewriteJsonText(words.slice(quote), rewriting, around)
  const bare = unescaped(words)
  const written = rewriteWords(bare, rewriting, around)
  return written === bare ? words : written
}

const ESCAPED = /[[{\s]+\\+"/y

/** Whether JSON text reveals no tax id: null, a boolean, empty, or only names of tax ids, such as `["ssn","fein"]`. */
export function isHarmless(value: string, keys: Pick<TaxIdKeys, 'isName'>): boolean {
  if (HARMLESS.has(value)) return true
  if (!/^["[]/.test(value) || /\d/.test(value)) return false
  try {
    const parsed: unknown = JSON.parse(value)
    return (Array.isArray(parsed) ? parsed : [parsed]).every((item) => typeof item === 'string' && (item === '' || keys.isName(item)))
  } catch {
    return false
  }
}

const HARMLESS = new Set(['null', 'true', 'false', '[]', '{}'])
/** Numbers with fewer digits are options. */
const DIGITS_OF_TAX_ID = 4

/** @returns spans not inside another, in order. */
function outermost(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.start - b.start || b.end - a.end)
  const kept: Span[] = []
  for (const span of sorted) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span)
  return kept
}

interface Container {
  readonly start: number
  readonly isObject: boolean
  /** Key of the container; in a list, the list's key. */
  readonly under: string
  /** Key of the next value; null if a key comes next. */
  key: string | null
  /** Whether a member names a tax id. */
  isOfTaxId: boolean
  /** Whether the object has its own subject. Its values then don't belong to the outer object. */
  hasSubject: boolean
  /** Whether one of its lists names a tax id as a column. */
  hasColumn: boolean
  values: Span[]
}

class Search {
  readonly #text: string
  readonly #rewriting: Rewriting
  readonly #root: Container
  readonly #open: Container[] = []
  readonly #spans: Span[] = []

  constructor(text: string, rewriting: Rewriting, { key: under = '', isOfTaxId = false }: Around) {
    this.#text = text
    this.#rewriting = rewriting
    this.#root = { start: 0, isObject: false, under, key: null, isOfTaxId, hasSubject: false, hasColumn: false, values: [] }
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
        const under = this.#around.key ?? this.#around.under
        this.#open.push({
          start,
          isObject: char === '{',
          under,
          key: null,
          isOfTaxId: false,
          hasSubject: false,
          hasColumn: false,
          values: [],
        })
      } else if (char === '}' || char === ']') {
        at += 1
        this.#close(at)
      } else if (char === ',' || char === ':' || char === ' ' || char === '\n' || char === '\r' || char === '\t') at += 1
      else {
        at = endOfScalar(text, at)
        this.#value(start, at, null)
      }
    }
    // The text may be cut off.
    while (this.#open.length > 0) this.#close(text.length)
    if (this.#root.isOfTaxId) this.#take(this.#root.values)
    return this.#spans
  }

  get #around(): Container {
    return this.#open.at(-1) ?? this.#root
  }

  #close(end: number): void {
    const closed = this.#open.pop()
    if (closed === undefined) return
    const { isOfTaxId, hasSubject, hasColumn, values, isObject } = closed
    // `"field": {"name": "fein"}` names the subject of the surrounding object.
    const { key } = this.#around
    if (isOfTaxId && isObject && key !== null && isSubjectKey(key)) this.#around.isOfTaxId = true
    if (isOfTaxId && !isObject && key !== null && isNameListKey(key)) this.#around.hasColumn = true
    if (isOfTaxId) this.#take(values)
    else if (hasColumn) this.#take(values.filter(({ isListed }) => isListed))
    else if (!hasSubject) join(this.#around, values)
    this.#value(closed.start, end, null)
  }

  /** No spread: argument lists are limited. */
  #take(spans: readonly Span[]): void {
    for (const span of spans) this.#spans.push(span)
  }

  #string(start: number, end: number): void {
    const around = this.#around
    const content = unquoted(this.#text.slice(start, end))
    if (around.isObject && around.key === null) around.key = content
    else this.#value(start, end, content)
  }

  /** @param content a string's text; null for other values. */
  #value(start: number, end: number, content: string | null): void {
    const { keys } = this.#rewriting
    const around = this.#around
    const span = { start, end, text: null }
    const { key } = around
    if (key !== null) {
      around.key = null
      if (keys.has(key)) this.#spans.push(span)
      else {
        if (content !== null && isSubjectKey(key) && keys.isName(content)) around.isOfTaxId = true
        if (isOwnSubjectKey(key)) around.hasSubject = true
        if ((isValueKey(key) && !this.#isOption(around, start, end)) || this.#hasForm(key, span, content)) around.values.push(span)
      }
    } else if (around !== this.#root) {
      // A list may be a pair: `["fein", "12-3456789"]`.
      if (content !== null && keys.isName(content)) around.isOfTaxId = true
      else if (this.#hasForm(around.under, span, content)) around.values.push({ ...span, isListed: true })
    }
    if (content !== null) this.#jsonIn(content, span, key ?? around.under)
  }

  #hasForm(key: string, { start, end }: Span, content: string | null): boolean {
    const isContainer = content === null && /[[{]/.test(this.#text[start] ?? '')
    return !isContainer && hasFormOfTaxId(key, content ?? this.#text.slice(start, end))
  }

  /** Whether a value is an option, not a tax id. */
  #isOption({ under }: Container, start: number, end: number): boolean {
    return isOptionsKey(under) && (this.#text.slice(start, end).match(/\d/g)?.length ?? 0) < DIGITS_OF_TAX_ID
  }

  /** A string may contain JSON text. Each nested string is at most half as long, because its quotes are escaped again. */
  #jsonIn(content: string, span: Span, key: string): void {
    const written = rewriteWords(content, this.#rewriting, { key })
    if (written !== content) this.#spans.push({ ...span, text: JSON.stringify(written) })
  }
}

/** Adds the smaller list to the larger, so that values of deeply nested objects aren't copied repeatedly. */
function join(to: Container, values: Span[]): void {
  const [fewer, more] = values.length < to.values.length ? [values, to.values] : [to.values, values]
  for (const value of fewer) more.push(value)
  to.values = more
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
    return unescaped(quoted.slice(1, -1))
  }
}

function unescaped(text: string): string {
  return text.replace(/\\(["\\/])/g, '$1')
}
