import type { Generated } from 'kysely'
import type { ColumnKind, DescribedColumn, Entity, RowOf } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** A column of any table or view except tables of service data. `T` is the type of its values. */
export interface Column<T = unknown> extends Omit<DescribedColumn, 'kind'> {
  readonly kind: ColumnKind | 'bytes'
  readonly isNullable?: true
  /** Never set. Only carries the type `T` for the compiler. */
  readonly value?: T
}

/**
 * Description of a table or view. The kysely type, the conversion of SQLite values, the data dictionary, and the
 * comments in Postgres are derived from this description.
 */
export interface Relation {
  readonly name: string
  readonly type: 'table' | 'view'
  /** Set for an internal table. A release may change internal tables without notice. */
  readonly isInternal?: true
  /** What the table contains. Full sentences; for an internal table, one phrase. */
  readonly holds: string
  /**
   * Columns of the primary key, in order. Empty for views, and for internal tables whose rows are never read by key.
   */
  readonly key: readonly string[]
  /** Columns in the order of the table. For an internal table, the order doesn't matter. */
  readonly columns: Readonly<Record<string, Column>>
  /** Paragraphs for the data dictionary, which follow the list of columns. */
  readonly notes?: readonly string[]
}

/** Declares a public table or view. */
export function relation<const R extends Relation>(description: R): R {
  return description
}

/** Declares an internal table. A release may change internal tables without notice. */
export function internal<const R extends Pick<Relation, 'name' | 'holds' | 'columns'> & Partial<Pick<Relation, 'key'>>>(description: R) {
  return { key: [], ...description, type: 'table', isInternal: true } as const satisfies Relation
}

export function relationOf({ table, holds, key, fields }: Entity): Relation {
  return { name: table, type: 'table', holds, key, columns: fields }
}

/**
 * @returns the part of a table's description that the store's row functions need.
 * @param columns names of the columns to include; all columns if none are given.
 */
export function specOf<R extends Relation>({ name, key, columns: all }: R, ...columns: readonly (keyof R['columns'] & string)[]) {
  const taken = Object.entries(all).filter(([column]) => columns.length === 0 || columns.includes(column))
  const kinds = taken.map(([column, { kind }]): [string, ColumnKind] => [column, kind as ColumnKind])
  return { table: name, key, columns: Object.fromEntries(kinds) }
}

/** Like `specOf`, but includes all columns except `left`. */
export function specWithout<R extends Relation>(relation: R, ...left: readonly (keyof R['columns'] & string)[]) {
  const { columns, ...spec } = specOf(relation)
  return { ...spec, columns: Object.fromEntries(Object.entries(columns).filter(([column]) => !left.includes(column))) }
}

type Spec = Pick<Entity, 'table' | 'key' | 'columns'>
const specsWithoutRaw = new WeakMap<Entity, Spec>()

/**
 * @returns the spec of an entity's table without `raw`. Returns the same object on every call, because SQLite's cache
 * of prepared statements uses this object as its key.
 */
export function specWithoutRaw(entity: Entity): Spec {
  const { table, key, columns } = entity
  const spec = specsWithoutRaw.get(entity) ?? {
    table,
    key,
    columns: Object.fromEntries(Object.entries(columns).filter(([, kind]) => kind !== 'raw')),
  }
  specsWithoutRaw.set(entity, spec)
  return spec
}

/** The kysely type of a table or view. */
export type TableOf<R extends Relation> = { -readonly [C in keyof R['columns']]: R['columns'][C] extends Column<infer T> ? T : never }

/** Properties of a column that differ from the defaults (source `program`, class `none`). */
type More = Partial<Pick<DescribedColumn, 'source' | 'class' | 'cents'>>

function column<T>(kind: Column['kind'], meaning: string, more: More): Column<T> {
  return { kind, class: 'none', source: 'program', meaning, ...more }
}

/*
 * Functions that describe a column, one for each kind. `meaning` is a sentence without its final period. For internal
 * tables, it may be empty.
 */

export const text = <T extends string = string>(meaning = '', more: More = {}) => column<T>('text', meaning, more)
export const int = (meaning = '', more: More = {}) => column<number>('int', meaning, more)
export const real = (meaning = '', more: More = {}) => column<number>('real', meaning, more)
export const bool = (meaning = '', more: More = {}) => column<boolean>('bool', meaning, more)
export const json = <T extends Json = Json>(meaning = '', more: More = {}) => column<T>('json', meaning, more)
export const time = (meaning = '', more: More = {}) => column<TimeText>('time', meaning, more)
export const raw = (meaning = '', more: More = {}) => column<string>('raw', meaning, more)
export const bytes = (meaning = '') => column<Buffer>('bytes', meaning, {})
/** An integer that the database assigns. */
export const serial = (meaning = '') => column<Generated<number>>('int', meaning, {})

/** Gives several columns the same description. */
export function each<C extends Column, N extends string>(column: C, ...names: readonly N[]): { readonly [K in N]: C } {
  return Object.fromEntries(names.map((name) => [name, column])) as { readonly [K in N]: C }
}

export function orNull<T>(of: Column<T>): Column<T | null> {
  return { ...of, isNullable: true } as Column<T | null>
}

/** Columns of a view that are unchanged copies of a table's columns. */
export function copied<E extends Entity, C extends keyof E['columns'] & keyof RowOf<E> & string>(from: E, ...columns: readonly C[]) {
  const taken = columns.map((name) => {
    const field = from.fields[name]
    if (field === undefined) throw new Error(`${from.table} has no column ${name}`)
    return [name, { ...field, source: `\`${from.table}\`` }]
  })
  return Object.fromEntries(taken) as { readonly [K in C]: Column<RowOf<E>[K]> }
}
