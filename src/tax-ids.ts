/** Keys, in lower case and of letters alone, under which an FEIN or a social security number stands. */
const TAX_IDS: ReadonlySet<string> = new Set([
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
])

/** Whether an FEIN or a social security number stands under this key, however it is written (invariant 12). */
export function isTaxIdKey(key: string): boolean {
  return TAX_IDS.has(key.toLowerCase().replace(/[^a-z]/g, ''))
}

/** Finds such a key in a text of JSON, without taking it apart. */
export const taxIdKeyInJson = new RegExp(`"[^a-z"]*(?:${[...TAX_IDS].map((word) => [...word].join('[^a-z"]*')).join('|')})[^a-z"]*":`, 'i')
