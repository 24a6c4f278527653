import { isUtf8 } from 'node:buffer'

/** How to fix a file in another encoding, the default of spreadsheets and Windows. */
export const SAVE_AS_UTF8 = 'is not UTF-8; save it as UTF-8 (in a spreadsheet that is "CSV UTF-8")'

/** @returns UTF-8 text; null for other bytes, because decoding them would silently change letters. */
export function utf8Text(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null
}
