/** Keys of a FEIN or social security number, in lower case, letters only. */
const KNOWN: readonly string[] = [
  'fein',
  'feinorssn',
  'ssn',
  'ein',
  'tin',
  'itin',
  'taxid',
  'taxidnumber',
  'taxpayerid',
  'taxpayeridentificationnumber',
  'federaltaxid',
  'federaltaxidnumber',
  'federalemployerid',
  'federalein',
  'socialsecuritynumber',
  'employeridentificationnumber',
  'federalemployeridentificationnumber',
]

/** Recognises keys of a FEIN or social security number (invariant 12). */
export interface TaxIdKeys {
  /** Whether the key is one, however it is spelled, or ends with the words of one: `owner_ssn`, `applicant.fein`. */
  has(key: string): boolean
  /** Finds such a key in JSON text without parsing it. It may find others too, and never misses one. */
  readonly inJson: RegExp
  /** All of them, sorted: their letters alone. */
  readonly words: readonly string[]
}

/** Keys whose answer is remembered. The keys of the service are few; those of strangers must not fill the memory. */
const MOST_REMEMBERED = 5_000

/**
 * The built-in keys and those from the settings.
 * @param further keys in any spelling: only their letters a-z count.
 */
export function taxIdKeys(further: readonly string[] = []): TaxIdKeys {
  const words = new Set([...KNOWN, ...further.map((key) => wordsOf(key).join(''))])
  const written = [...words].map((word) => [...word].join('[^a-z"]*')).join('|')
  const remembered = new Map<string, boolean>()
  const has = (key: string): boolean => {
    const known = remembered.get(key)
    if (known !== undefined) return known
    const own = wordsOf(key)
    const is = own.some((_, start) => words.has(own.slice(start).join('')))
    if (remembered.size < MOST_REMEMBERED) remembered.set(key, is)
    return is
  }
  return { has, words: [...words].sort(), inJson: new RegExp(`(?:${written})[^a-z"]*\\\\*"|\\\\u00[4-7]`, 'i') }
}

/** @returns the words of a key in lower case: those between other characters, and those of `camelCase`. */
function wordsOf(key: string): string[] {
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
  return words.filter((word) => word !== '')
}
