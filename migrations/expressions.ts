import type { ColumnTypes } from '../src/store/schema/migration.ts'

/** Whole seconds from one moment to another, negative when the second is the earlier one. */
export function seconds(t: ColumnTypes, from: string, to: string): string {
  return t.kind === 'sqlite'
    ? `cast(round((julianday(${to}) - julianday(${from})) * 86400) as integer)`
    : `extract(epoch from ${to} - ${from})::bigint`
}

/** The texts of a JSON list as rows with the column `value`; none for a list that is null or empty. */
export function each(t: ColumnTypes, list: string): string {
  return t.kind === 'sqlite'
    ? `json_each(${list})`
    : `jsonb_array_elements_text(case when jsonb_typeof(${list}) = 'array' then ${list} else '[]' end)`
}

/** Joins the texts of a list of the row before it as `alias.value`; one row with null for a list that is null or empty. */
export function leftJoinEach(t: ColumnTypes, list: string, alias: string): string {
  return t.kind === 'sqlite'
    ? `left join ${each(t, list)} ${alias} on 1 = 1`
    : `left join lateral ${each(t, list)} as ${alias}(value) on true`
}

/** Whether two JSON values are the same, null too. SQLite 3.33 does not know `is not distinct from`. */
export function same(t: ColumnTypes, a: string, b: string): string {
  return t.kind === 'sqlite' ? `${a} is ${b}` : `${a} is not distinct from ${b}`
}
