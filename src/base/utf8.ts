import { isUtf8 } from 'node:buffer'

/** What to do about a text of other bytes, as spreadsheets and Windows write them unless they are told otherwise. */
export const SAVE_AS_UTF8 = 'is not UTF-8; save it as UTF-8 (in a spreadsheet that is "CSV UTF-8")'

/** @returns the text that bytes are as UTF-8; null when they are none, for whatever is no letter would silently become another one. */
export function utf8Text(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null
}
