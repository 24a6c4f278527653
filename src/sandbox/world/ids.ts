import { createHash } from 'node:crypto'

/** @returns a UUID that depends only on `text`. */
export function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/**
 * @returns a tax id derived from the insured's name. Facts and answers show this tax id. A mirror must not store it.
 */
export function taxIdOf(insuredName: string): string {
  const digits = BigInt(`0x${createHash('sha256').update(`tax id of ${insuredName}`).digest('hex')}`)
    .toString()
    .slice(-9)
  return `${digits.slice(0, 2)}-${digits.slice(2)}`
}

/**
 * @returns the id of an insured, derived from the account and the name. For the account `default`, the id derives from
 * the name only, because existing state files contain such ids.
 */
export function insuredIdByName(account: string, name: string): string {
  return uuidOf(account === 'default' ? `insured ${name}` : `insured ${account} ${name}`)
}
