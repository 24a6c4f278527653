import { createHash } from 'node:crypto'

/** @returns the tax id of an insured: it stands in the facts and answers of its submissions, for receivers that must not keep it. */
export function taxIdOf(insuredName: string): string {
  const digits = BigInt(`0x${createHash('sha256').update(`tax id of ${insuredName}`).digest('hex')}`)
    .toString()
    .slice(-9)
  return `${digits.slice(0, 2)}-${digits.slice(2)}`
}
