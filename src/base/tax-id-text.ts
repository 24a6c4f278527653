import { hasFormOfTaxId, isNameListKey, isOptionsKey, isOwnSubjectKey, isSubjectKey, isValueKey, type TaxIdKeys } from './tax-ids.ts'

/*
 * Replaces tax ids in JSON text. All other characters stay as received, including numbers, spaces, and repeated keys.
 * In text that isn't valid JSON, the parts that look like JSON are searched.
 */

/** A part of the text that is replaced. */
interface Span {
  readonly start: number
  readonly end: number
  /** The replacement; null if `Rewriting.replace` makes the replacement. */
  readonly text: string | null
  readonly isListed?: boolean
}

export interface Rewriting {
  readonly keys: Pick<TaxIdKeys, 'has' | 'isName'>
  /** @param value JSON text of a value. @returns the JSON text that replaces `value`. */
  readonly replace: (value: string) => string
}

export interface Around {
  /** Key of the value that contains the text. */
  readonly key?: string | undefined
  /** True if the object that contains the text names a tax id. */
  readonly isOfTaxId?: boolean
}

/** Replaces tax ids in JSON text. @returns the same text if it contains no tax id. */
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

/** Like `rewriteJsonText`, but the JSON may begin anywhere in the text, and its quotes may be escaped. */
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

/**
 * True if a value reveals no tax id. Such a value is null, a boolean, empty, or only names of tax ids,
 * for example `["ssn","fein"]`.
 * @param value JSON text.
 */
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
/** In a list of options, a number with fewer digits than this is an option and not a tax id. */
const DIGITS_OF_TAX_ID = 4

/** @returns the spans that aren't inside another span, in text order. */
function outermost(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.start - b.start || b.end - a.end)
  const kept: Span[] = []
  for (const span of sorted) if (span.start >= (kept.at(-1)?.end ?? 0)) kept.push(span)
  return kept
}

interface Container {
  readonly start: number
  readonly isObject: boolean
  /** Key of this object or list. A container that is a list item has the key of that list. */
  readonly under: string
  /** Key of the next value. Null if a key comes next, and always in a list. */
  key: string | null
  /** True if a value in this container names a tax id. */
  isOfTaxId: boolean
  /**
   * True if the object names its own subject, for example by `question_key`. The values in this object then don't
   * belong to the subject of the outer object.
   */
  hasSubject: boolean
  /** True if a list of column names in this object, such as `"columns": ["fein"]`, names a tax id. */
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
    // If the text is cut off, some objects or lists are still open.
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
    // The inner object names the subject of the outer object: `"field": {"name": "fein"}`.
    const { key } = this.#around
    if (isOfTaxId && isObject && key !== null && isSubjectKey(key)) this.#around.isOfTaxId = true
    if (isOfTaxId && !isObject && key !== null && isNameListKey(key)) this.#around.hasColumn = true
    if (isOfTaxId) this.#take(values)
    else if (hasColumn) this.#take(values.filter(({ isListed }) => isListed))
    else if (!hasSubject) join(this.#around, values)
    this.#value(closed.start, end, null)
  }

  /**
   * Adds one span at a time. `push(...spans)` would fail for many spans, because the number of arguments is limited.
   */
  #take(spans: readonly Span[]): void {
    for (const span of spans) this.#spans.push(span)
  }

  #string(start: number, end: number): void {
    const around = this.#around
    const content = unquoted(this.#text.slice(start, end))
    if (around.isObject && around.key === null) around.key = content
    else this.#value(start, end, content)
  }

  /** @param content the text of a string; null for other values. */
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
      // The list may be a pair of a name and a value: `["fein", "12-3456789"]`.
      if (content !== null && keys.isName(content)) around.isOfTaxId = true
      else if (this.#hasForm(around.under, span, content)) around.values.push({ ...span, isListed: true })
    }
    if (content !== null) this.#jsonIn(content, span, key ?? around.under)
  }

  #hasForm(key: string, { start, end }: Span, content: string | null): boolean {
    const isContainer = content === null && /[[{]/.test(this.#text[start] ?? '')
    return !isContainer && hasFormOfTaxId(key, content ?? this.#text.slice(start, end))
  }

  /** True if a value is in a list of options and has too few digits for a tax id. */
  #isOption({ under }: Container, start: number, end: number): boolean {
    return isOptionsKey(under) && (this.#text.slice(start, end).match(/\d/g)?.length ?? 0) < DIGITS_OF_TAX_ID
  }

  /**
   * Replaces tax ids in JSON text inside a string. That JSON text may itself contain such strings. The recursion ends,
   * because each nested string is shorter than the string around it.
   */
  #jsonIn(content: string, span: Span, key: string): void {
    const written = rewriteWords(content, this.#rewriting, { key })
    if (written !== content) this.#spans.push({ ...span, text: JSON.stringify(written) })
  }
}

/**
 * Adds the shorter list to the longer list. Otherwise the values of deeply nested objects would be copied
 * at every level.
 */
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
