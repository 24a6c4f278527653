import { isUtf8 } from 'node:buffer'

/** What to do about a file in another encoding, as spreadsheets and Windows write by default. */
export const SAVE_AS_UTF8 = 'is not UTF-8; save it as UTF-8 (in a spreadsheet that is "CSV UTF-8")'

/** @returns the bytes as UTF-8 text; null when they are not UTF-8, because decoding would silently change letters. */
export function utf8Text(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null
}
