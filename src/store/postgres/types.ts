import pg from 'pg'
import { parseTime, type TimeText } from '../../model/time.ts'

const INT8 = 20
const JSON_TYPE = 114
const DATE = 1082
const TIMESTAMPTZ = 1184

type Parse = (text: string) => unknown

const ours = new Map<number, Parse>([
  // Ids, sequence numbers and counts are safe integers. Sums of bigint are numeric and stay text.
  [INT8, Number],
  [JSON_TYPE, (text) => text],
  [DATE, (text) => text],
  [TIMESTAMPTZ, timeFromPostgres],
])

/** Type parsers of these connections. Other users of pg in the process keep the defaults. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : ours.get(oid)) ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** @param text like `2026-01-31 08:00:00.12+00`. @returns TimeText with microseconds; `infinity` and years before 1 unchanged. */
export function timeFromPostgres(text: string): TimeText {
  if (!text.endsWith('+00') || text[10] !== ' ') return parseTime(text) ?? text
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}Z`
}
