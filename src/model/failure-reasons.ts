import { MASK } from './masking.ts'

/** Placeholder for the parts of a text that differ between failures with the same reason. */
const ANY = '…'
const LONGEST = 300
/** Matches words with a digit: ids, numbers, and times. Excludes the status of an answer, as in `answered 404`. */
const VARYING = /(?<!\banswered )(?<![\p{L}\p{N}])[\p{L}\p{N}_.:@+-]*\p{N}[\p{L}\p{N}_.:@+-]*/gu

/**
 * @returns the text of a failure, with its ids, numbers, times, and masked values replaced by `…`. Failures with the
 * same reason then have the same text.
 */
export function reasonOf(text: string): string {
  const plain = text.replaceAll(MASK, ANY).replace(VARYING, ANY)
  return plain.slice(0, LONGEST) + (plain.length > LONGEST ? ANY : '')
}

/** True if the text of a failure matches a reason. `…` in the reason matches any text. */
export function isOfReason(text: string, reason: string): boolean {
  const [first = '', ...others] = reason.split(ANY)
  if (!text.startsWith(first)) return false
  if (others.length === 0) return text === first
  let from = first.length
  const last = others.pop() ?? ''
  for (const part of others) {
    const at = text.indexOf(part, from)
    if (at === -1) return false
    from = at + part.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}
