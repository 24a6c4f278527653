import pg from 'pg'
import { parseTime, type TimeText } from '../../model/time.ts'

const INT8 = 20
const JSON_TYPE = 114
const DATE = 1082
const TIMESTAMPTZ = 1184

type Parse = (text: string) => unknown

const ours = new Map<number, Parse>([
  // The program's bigint values (ids, sequence numbers, counts) are exact as JavaScript numbers. The sum of a bigint
  // column has the type numeric, and stays text.
  [INT8, Number],
  [JSON_TYPE, (text) => text],
  [DATE, (text) => text],
  [TIMESTAMPTZ, timeFromPostgres],
])

/**
 * Parsers of Postgres types, for the program's own connections. Other code in the process that uses pg
 * keeps pg's parsers.
 */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format === 'binary' ? undefined : ours.get(oid)) ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/**
 * Converts a timestamp of Postgres.
 * @param text such as `2026-01-31 08:00:00.12+00`.
 * @returns a TimeText with microseconds. `infinity`, `-infinity`, and years before 1 are returned unchanged.
 */
export function timeFromPostgres(text: string): TimeText {
  if (!text.endsWith('+00') || text[10] !== ' ') return parseTime(text) ?? text
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}Z`
}
