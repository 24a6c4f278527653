import { sealedParts } from './sealed.ts'

/*
 * Recognizes tax ids (FEIN, SSN) in JSON by their keys. Applies to everything stored, logged, or sent (invariant 12).
 * Keys are read as words: `NamedInsured_TaxIdentifier_A` is "named insured tax identifier a".
 */

/** Matches a short tax-id name that is joined to another word: `companyein`. */
const JOINED = '(?:company|business|employer|insured|applicant|owner|entity)(?:ein|tin)'

/** Patterns of tax-id names that are recognized anywhere in a key. */
const NAMES = [
  // Excludes `assn`, which means association.
  String.raw`\w*(?:fein|(?<!a)ssn|taxid)`,
  'ein',
  JOINED,
  'f? ?e i n',
  's s n',
  'itin',
  'feinorssn',
  'tax ?(?:payer ?)?(?:id|ident|identity|identification|identifier|number|num|no|nbr|ref|reference|registration)',
  'national ?(?:id|identification|identifier)',
  'tin (?:of )?(?:company|business|employer|insured|applicant|owner|entity)',
  'fed(?:eral)? ?(?:tax ?)?(?:emp(?:l|loyer)? ?)?(?:id|identification|identifier|ein)',
  'social ?sec(?:urity)?',
  'soc ?sec',
  'ss (?:number|num|no|nbr)',
  'employer ?(?:identification|id ?(?:number|num|no|nbr))',
  'irs ?(?:number|num|no|nbr|id)',
]
const NAMED = new RegExp(String.raw`\b(?:${NAMES.join('|')})(?:s|number|num|no|nbr|id|last)?\b`, 'g')

/**
 * Tax-id names that are recognized only at the end of a key, or before words of `QUALIFIERS`. Elsewhere they may have
 * other meanings, as in `tin_roof`.
 */
const AT_END = ['tin', 'tins', 'tinnumber', 'tinno']

/** Words that may follow a tax-id name: `tin_number`, `tin_last4`. */
const QUALIFIERS = new Set(
  (
    'number numbers num nbr no id ids value values text last four digits raw plain full formatted normalized display masked hash hashed ' +
    'encrypted'
  ).split(' '),
)

/**
 * A key that ends with one of these words describes a tax id but doesn't contain a tax
 * id: `tax_id_type`, `ssn_document_id`.
 */
const ABOUT = new Set(
  (
    'type types kind kinds status required requirement label labels hint help placeholder format pattern key keys name title question questions ' +
    'option options document documents file files schema version verified valid provided present missing requested at date time count url path'
  ).split(' '),
)

/** Matches the characters that may separate two words of a key in JSON text. */
const GAP = String.raw`(?:\\u[0-9a-f]{4}|\\.|[^a-z"\\])*`

/**
 * Quick test of JSON text. Matches every key that `NAMED` matches, and more. Escapes of letters also match, because an
 * escape may hide a letter of a key.
 */
const MAYBE_NAMED = new RegExp(
  [
    'fein|ssn',
    '(?<![a-z])(?:f[^a-z"]+e[^a-z"]+i|s[^a-z"]+s|e[^a-z"]+i|t[^a-z"]+i)[^a-z"]+n(?![a-z])',
    `tax${GAP}(?:payer|id|nu|no|nbr|re[fg])`,
    `national${GAP}i`,
    String.raw`(?:ss|tax|payer|irs|employer)\s*#`,
    `fed(?:eral)?${GAP}(?:tax|emp|id|ein)`,
    `soc(?:ial)?${GAP}sec`,
    `ss${GAP}(?:nu|no|nbr)`,
    JOINED,
    `employer${GAP}id`,
    `irs${GAP}(?:nu|no|nbr|id)`,
    String.raw`\\u00[4-7]`,
  ].join('|'),
  'i',
)
/**
 * Quick test for the short names `ein`, `tin`, and `itin`. Needs word boundaries, because other words
 * contain these letters.
 */
const MAYBE_SHORT =
  /(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))(?:[Ee][Ii][Nn]|[Ii]?[Tt][Ii][Nn])(?:[Ss]|[Nn][Uu][Mm]|[Nn][Oo]|[Nn][Bb][Rr]|[Ii][Dd]|[Ll]|(?![a-z]))/

/** Words of a key whose value names the subject of the object: `question_key`, `field_name`, `type`. */
const SUBJECT = new Set(
  (
    'key name id label question path slug title type kind code field fact item attribute property prompt caption identifier variable tag ' +
    'element column header display full short form answer text k ref param parameter scheme schema system category canonical input ' +
    'metric dimension data point'
  ).split(' '),
)
/** If a key of an object ends with one of these words, the object has its own subject, even inside another object. */
const OWN_SUBJECT = new Set(['key', 'label', 'question', 'field', 'attribute', 'property', 'variable', 'prompt'])
/** Words of a key that contains the value of the object's subject, such as `answer` or `entered_value`. */
const VALUE = new Set(
  'value values val vals v data answer answers response evidence snippet excerpt hash number digits identifier entered normalized'.split(
    ' ',
  ),
)
const VALUE_AT_END = new Set('text default content raw num no old new before after from to previous current original'.split(' '))
/**
 * Last word of a key whose value is a list of column names. The values are in another list of the same object.
 * Example: `{"fields": ["fein"], "values": ["12-3456789"]}`.
 */
const NAME_LISTS = new Set(['fields', 'columns', 'headers', 'header'])
/** Matches a number in the form of an FEIN or SSN. */
const FORM = /(?<![\w-])(?:\d{2}-?\d{7}|\d{3}[- ]\d{2}[- ]\d{4})(?![\w-])/
const OPTIONS = new Set(['option', 'options', 'choice', 'choices', 'enum', 'enums'])

/**
 * Limits of the key cache: number of keys, and characters in a key. The service has few keys, but foreign data could
 * have enough different keys to fill the memory.
 */
const MOST_REMEMBERED = 5_000
const LONGEST_REMEMBERED = 100

export interface TaxIdKeys {
  /**
   * True if the value of a key is a tax id. Recognizes keys in any spelling: `owner_ssn`, `applicant.fein`,
   * `TaxIdentifier_A`.
   */
  has(key: string): boolean
  /**
   * True if a text names a tax id but doesn't contain a tax id. Such a text is the key, label, or type of a fact, an
   * answer, or an option.
   */
  isName(text: string): boolean
  /** True if JSON text may contain a tax-id key; false if it surely contains none. */
  mayBeIn(text: string): boolean
  /**
   * Patterns and names of tax-id keys, and the words of `ABOUT`. If `rule` changes, `ProtectStep` checks stored rows
   * again.
   */
  readonly rule: readonly string[]
}

/**
 * Recognizes the built-in tax-id keys and the keys in `further`.
 * @param further keys from the settings. A key also matches if it ends with a key from this list. Only the letters
 * a-z are compared.
 */
export function taxIdKeys(further: readonly string[] = []): TaxIdKeys {
  const own = further.map((key) => wordsOf(key).join('')).filter((word) => word !== '')
  const atEnd = new Set([...AT_END, ...own])
  const mayBeOwn = own.length === 0 ? null : new RegExp(own.map((word) => [...word].join(GAP)).join('|'), 'i')
  const has = remembering((key) => {
    const words = wordsOf(key)
    return (
      holdsNamed(wordsOf(key.replaceAll('#', ' no ')), /\s/.test(key)) ||
      endsWith(words, atEnd) ||
      endsWith(withoutQualifiers(words), atEnd)
    )
  })
  return {
    has,
    isName: (text) => (text.match(/\d/g)?.length ?? 0) < 4 && has(text),
    mayBeIn: (text) => MAYBE_NAMED.test(text) || MAYBE_SHORT.test(text) || mayBeOwn?.test(text) === true,
    rule: [NAMED.source, ...ABOUT, ...[...atEnd].sort()],
  }
}

/**
 * @param isSentence true if `words` come from a label or question. Such a text may name a tax id even if it ends with a
 * word of `ABOUT`.
 */
function holdsNamed(words: readonly string[], isSentence: boolean): boolean {
  const text = words.join(' ')
  return text.matchAll(NAMED).some(({ 0: name, index }) => {
    const behind = text
      .slice(index + name.length)
      .split(' ')
      .filter((word) => word.length > 1 && word !== 'id' && word !== 'ids')
    return !ABOUT.has(behind.at(-1) ?? '') || (isSentence && behind.length > 1)
  })
}

function endsWith(words: readonly string[], names: ReadonlySet<string>): boolean {
  return words.some((_, start) => names.has(words.slice(start).join('')))
}

function withoutQualifiers(words: readonly string[]): readonly string[] {
  const last = words.findLastIndex((word) => word.length > 1 && !QUALIFIERS.has(word))
  return words.slice(0, last + 1)
}

/** True if the subject of an object, such as a fact or an answer, is a tax id. */
export function namesTaxId(value: object, keys: Pick<TaxIdKeys, 'isName'>): boolean {
  return Object.entries(value).some(([key, name]) => typeof name === 'string' && isSubjectKey(key) && keys.isName(name))
}

/**
 * True if the value of this key says what its JSON object is about. Example: the value of `question_key` names the
 * question of an answer.
 */
export const isSubjectKey = remembering((key) => {
  const words = wordsOf(key)
  return words.length > 0 && words.every((word) => SUBJECT.has(word)) && words.join('') !== 'text'
})

/** True if an object with this key has its own subject. */
export const isOwnSubjectKey = remembering((key) => isSubjectKey(key) && OWN_SUBJECT.has(wordsOf(key).at(-1) ?? ''))

/** True if a key describes the subject of its object, such as `help_text`. */
const isAboutKey = remembering((key) => wordsOf(key).some((word) => ABOUT.has(word)))

/**
 * True if this key, such as `value`, holds what another key of the same object names. Example: the answer to the question
 * in `question_key`.
 */
export const isValueKey = remembering((key) => {
  if (isAboutKey(key)) return false
  const words = wordsOf(key)
  return words.some((word) => VALUE.has(word)) || VALUE_AT_END.has(words.at(-1) ?? '')
})

/**
 * True if a value looks like a tax id or is encrypted. In an object that names a tax id, such values are protected.
 * Always false for keys that only describe a tax id (`isAboutKey`).
 */
export function hasFormOfTaxId(key: string, value: string): boolean {
  return !isAboutKey(key) && (FORM.test(value) || sealedParts(value) !== null)
}

export const isNameListKey = remembering((key) => NAME_LISTS.has(wordsOf(key).at(-1) ?? '') && !isAboutKey(key))

export const isOptionsKey = remembering((key) => OPTIONS.has(wordsOf(key).at(-1) ?? ''))

function remembering(answer: (key: string) => boolean): (key: string) => boolean {
  const remembered = new Map<string, boolean>()
  return (key) => {
    const known = remembered.get(key)
    if (known !== undefined) return known
    const is = answer(key)
    if (remembered.size < MOST_REMEMBERED && key.length <= LONGEST_REMEMBERED) remembered.set(key, is)
    return is
  }
}

/** @returns the words of a key in lower case. Splits at characters other than letters, and in `camelCase`. */
function wordsOf(key: string): string[] {
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    // Splits `FEINNumber` into two words, but leaves `FEINs` as one word.
    .replace(/([A-Z])([A-Z](?!s(?![a-z]))[a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return words.filter((word) => word !== '')
}
