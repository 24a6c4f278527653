/** Keys, in lower case and of letters alone, under which an FEIN or a social security number stands. */
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

/** The keys under which an FEIN or a social security number stands (invariant 12). */
export interface TaxIdKeys {
  /** Whether one stands under this key, however it is written. */
  has(key: string): boolean
  /** Finds such a key in a text of JSON, without taking it apart. */
  readonly inJson: RegExp
}

/**
 * The keys that are known, and those that the settings name.
 * @param further keys, however they are written: only their letters of a-z count.
 */
export function taxIdKeys(further: readonly string[] = []): TaxIdKeys {
  const words = new Set([...KNOWN, ...further.map(lettersOf)])
  const written = [...words].map((word) => [...word].join('[^a-z"]*')).join('|')
  return { has: (key) => words.has(lettersOf(key)), inJson: new RegExp(`"[^a-z"]*(?:${written})[^a-z"]*":`, 'i') }
}

function lettersOf(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '')
}
