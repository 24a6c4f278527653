import { isUtf8 } from 'node:buffer'

/** Advice for a file that isn't UTF-8. Spreadsheets and Windows often save files in another encoding. */
export const SAVE_AS_UTF8 = 'is not UTF-8; save it as UTF-8 (in a spreadsheet that is "CSV UTF-8")'

/** @returns the bytes as text; null if they aren't UTF-8, because decoding them would silently change letters. */
export function utf8Text(bytes: Buffer): string | null {
  return isUtf8(bytes) ? bytes.toString('utf8') : null
}
