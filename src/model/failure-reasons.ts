import { MASK } from './masking.ts'

/** Replaces the parts that differ between failures with the same reason. */
const ANY = '…'
const LONGEST = 300
/** Words with a digit: ids, numbers and times, except the status of an answer. */
const VARYING = /(?<!\banswered )(?<![\p{L}\p{N}])[\p{L}\p{N}_.:@+-]*\p{N}[\p{L}\p{N}_.:@+-]*/gu

/** @returns a failure's text without the parts that differ between failures with the same reason. */
export function reasonOf(text: string): string {
  const plain = text.replaceAll(MASK, ANY).replace(VARYING, ANY)
  return plain.slice(0, LONGEST) + (plain.length > LONGEST ? ANY : '')
}

/** Whether a failure text matches a reason, in which `…` is any text. */
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
