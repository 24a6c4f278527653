import type { Generated } from 'kysely'
import type { ColumnKind, DescribedColumn, Entity, RowOf } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** A column of a table or view that isn't a table of service data. `T` is the type of its values. */
export interface Column<T = unknown> extends Omit<DescribedColumn, 'kind'> {
  readonly kind: ColumnKind | 'bytes'
  readonly isNullable?: true
  /** Never set. Carries the type `T`. */
  readonly value?: T
}

/**
 * A table or view. The kysely type, the conversion of SQLite values, the data dictionary, and the Postgres comments all
 * follow from this description.
 */
export interface Relation {
  readonly name: string
  readonly type: 'table' | 'view'
  /** Set for an internal table. A release may change internal tables without notice. */
  readonly isInternal?: true
  /** What the table contains: sentences; for an internal table, one phrase. */
  readonly holds: string
  /** Key columns in order. Empty for views, and for internal tables whose rows are never accessed by key. */
  readonly key: readonly string[]
  /** Columns in the order of the table. For an internal table, in any order. */
  readonly columns: Readonly<Record<string, Column>>
  /** Further paragraphs of the dictionary about the columns. */
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
 * @returns the description of a table that the store's row functions need.
 * @param columns columns to include; none for all columns.
 */
export function specOf<R extends Relation>({ name, key, columns: all }: R, ...columns: readonly (keyof R['columns'] & string)[]) {
  const taken = Object.entries(all).filter(([column]) => columns.length === 0 || columns.includes(column))
  const kinds = taken.map(([column, { kind }]): [string, ColumnKind] => [column, kind as ColumnKind])
  return { table: name, key, columns: Object.fromEntries(kinds) }
}

/** Like `specOf`, for all columns except `left`. */
export function specWithout<R extends Relation>(relation: R, ...left: readonly (keyof R['columns'] & string)[]) {
  const { columns, ...spec } = specOf(relation)
  return { ...spec, columns: Object.fromEntries(Object.entries(columns).filter(([column]) => !left.includes(column))) }
}

type Spec = Pick<Entity, 'table' | 'key' | 'columns'>
const specsWithoutRaw = new WeakMap<Entity, Spec>()

/**
 * @returns the spec of an entity's table without `raw`. Always the same object for one entity, because SQLite caches
 * prepared statements by this object.
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

/** Properties of a column that replace the defaults (source `program`, class `none`). */
type More = Partial<Pick<DescribedColumn, 'source' | 'class' | 'cents'>>

function column<T>(kind: Column['kind'], meaning: string, more: More): Column<T> {
  return { kind, class: 'none', source: 'program', meaning, ...more }
}

/* Functions that describe a column, one for each kind. The meaning is one sentence without its period; internal tables
   may leave it out. */

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

/** Declares several columns with the same description. */
export function each<C extends Column, N extends string>(column: C, ...names: readonly N[]): { readonly [K in N]: C } {
  return Object.fromEntries(names.map((name) => [name, column])) as { readonly [K in N]: C }
}

export function orNull<T>(of: Column<T>): Column<T | null> {
  return { ...of, isNullable: true } as Column<T | null>
}

/** Columns of a view that are copied unchanged from a table of service data. */
export function copied<E extends Entity, C extends keyof E['columns'] & keyof RowOf<E> & string>(from: E, ...columns: readonly C[]) {
  const taken = columns.map((name) => {
    const field = from.fields[name]
    if (field === undefined) throw new Error(`${from.table} has no column ${name}`)
    return [name, { ...field, source: `\`${from.table}\`` }]
  })
  return Object.fromEntries(taken) as { readonly [K in C]: Column<RowOf<E>[K]> }
}
