/** Limits in characters for a text and for a word. Without limits, a hostile name could fill an index. */
const SPLIT_LENGTH = 1_000
const WORD_LENGTH = 64

/**
 * Matches spaces, punctuation, control characters, and signs such as `$`, `=`, and `|`. Emoji count as words
 * and don't match.
 */
const SEPARATORS = /[\p{Z}\p{P}\p{Cc}\p{Sc}\p{Sm}\p{Sk}]+/u

/** Letters that Unicode doesn't split into a plain letter and an accent. */
const PLAIN: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
}

/**
 * @returns the distinct words of a name or a search text, in lower case and without accents
 * ("castaneda" finds Castañeda).
 * Stored and searched words are both made here, so both databases find the same names.
 */
export function searchWords(text: string): string[] {
  const words = withoutAccents([...text].slice(0, SPLIT_LENGTH).join('')).split(SEPARATORS)
  return [...new Set(words.filter((word) => word !== '').map((word) => [...word].slice(0, WORD_LENGTH).join('')))]
}

/**
 * True if one of the texts contains `part`. Ignores case and accents, and treats `_` as a space: `quote received` finds
 * `quote_received`.
 */
export function haveText(texts: readonly (string | null)[], part: string): boolean {
  const plain = (text: string) => withoutAccents(text).replaceAll('_', ' ')
  const wanted = plain(part)
  return texts.some((text) => text !== null && plain(text).includes(wanted))
}

function withoutAccents(text: string): string {
  const lowered = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  return lowered.replace(/[^\p{ASCII}]/gu, (char) => PLAIN[char] ?? char)
}
