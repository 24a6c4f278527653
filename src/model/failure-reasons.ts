import { MASK } from './masking.ts'

/** Stands for whatever differs between failures of one reason. */
const ANY = '…'
const LONGEST = 300
/** Ids, numbers and times: words with a digit. The status of an answer stays. */
const VARYING = /(?<!\banswered )(?<![\p{L}\p{N}])[\p{L}\p{N}_.:@+-]*\p{N}[\p{L}\p{N}_.:@+-]*/gu

/** @returns a failure's text without what differs between failures of the same reason. */
export function reasonOf(text: string): string {
  const plain = text.replaceAll(MASK, ANY).replace(VARYING, ANY)
  return plain.slice(0, LONGEST) + (plain.length > LONGEST ? ANY : '')
}

/** Whether a failure is of a reason: its text is that of the reason, with anything at each `…`. */
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
