import type { ColumnTypes } from '../src/store/schema/migration.ts'

/** Whole seconds from one moment to another; negative if the second is earlier. */
export function seconds(t: ColumnTypes, from: string, to: string): string {
  return t.kind === 'sqlite'
    ? `cast(round((julianday(${to}) - julianday(${from})) * 86400) as integer)`
    : `extract(epoch from ${to} - ${from})::bigint`
}

/** The texts of a JSON list as rows with the column `value`; no rows for null or an empty list. */
export function each(t: ColumnTypes, list: string): string {
  return t.kind === 'sqlite'
    ? `json_each(${list})`
    : `jsonb_array_elements_text(case when jsonb_typeof(${list}) = 'array' then ${list} else '[]' end)`
}

/** Joins the texts of a list as `alias.value`; one row with null for null or an empty list. */
export function leftJoinEach(t: ColumnTypes, list: string, alias: string): string {
  return t.kind === 'sqlite'
    ? `left join ${each(t, list)} ${alias} on 1 = 1`
    : `left join lateral ${each(t, list)} as ${alias}(value) on true`
}

/** Whether two JSON values are equal, including null. SQLite 3.33 lacks `is not distinct from`. */
export function same(t: ColumnTypes, a: string, b: string): string {
  return t.kind === 'sqlite' ? `${a} is ${b}` : `${a} is not distinct from ${b}`
}
