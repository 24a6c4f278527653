import pg from 'pg'
import { parseTime, type TimeText } from '../../model/time.ts'

const INT8 = 20
const JSON_TYPE = 114
const DATE = 1082
const TIMESTAMPTZ = 1184

type Parse = (text: string) => unknown

const ours = new Map<number, Parse>([
  // Ids, sequence numbers and counts are all safe integers. Sums of bigint are numeric and stay text.
  [INT8, Number],
  // `raw` is returned exactly as stored.
  [JSON_TYPE, (text) => text],
  [DATE, (text) => text],
  [TIMESTAMPTZ, timeFromPostgres],
])

/** Type parsers of our connections; other users of pg in the process keep its defaults. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : ours.get(oid)) ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/**
 * @param text a timestamptz as Postgres writes it with `datestyle` ISO, such as `2026-01-31 08:00:00.12+00`.
 * @returns the same moment as TimeText. It never passes through a Date, which would cut off microseconds. Other values (`infinity`, years
 * before 1) are returned unchanged.
 */
export function timeFromPostgres(text: string): TimeText {
  if (!text.endsWith('+00') || text[10] !== ' ') return parseTime(text) ?? text
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}Z`
}
