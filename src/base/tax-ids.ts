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
  /** Whether the key is one, however it is spelled. */
  has(key: string): boolean
  /** Finds such a key in JSON text without parsing it. */
  readonly inJson: RegExp
}

/**
 * The built-in keys and those from the settings.
 * @param further keys in any spelling: only their letters a-z count.
 */
export function taxIdKeys(further: readonly string[] = []): TaxIdKeys {
  const words = new Set([...KNOWN, ...further.map(lettersOf)])
  const written = [...words].map((word) => [...word].join('[^a-z"]*')).join('|')
  return { has: (key) => words.has(lettersOf(key)), inJson: new RegExp(`"[^a-z"]*(?:${written})[^a-z"]*":`, 'i') }
}

function lettersOf(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '')
}
