import type { Generated } from 'kysely'
import type { ColumnKind, DescribedColumn, Entity, RowOf } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** A column of a table or view outside the mirror. `T` is the type of its values. */
export interface Column<T = unknown> extends Omit<DescribedColumn, 'kind'> {
  readonly kind: ColumnKind | 'bytes'
  readonly isNullable?: true
  /** For the type only: never set. */
  readonly value?: T
}

/**
 * A table or view. It defines the type for kysely, the conversion of SQLite's values, the data dictionary, and the comments in Postgres.
 */
export interface Relation {
  readonly name: string
  readonly type: 'table' | 'view'
  /** A table of the program's own, which a release may change without notice. */
  readonly isInternal?: true
  /** Its contents, in sentences; for an internal table in a phrase. */
  readonly holds: string
  /** Key columns in order; none for a view, and for an internal table only if rows are accessed by key. */
  readonly key: readonly string[]
  /** In the order of the table; of an internal table in any. */
  readonly columns: Readonly<Record<string, Column>>
  /** Further paragraphs about columns. */
  readonly notes?: readonly string[]
}

/** A table or view for readers. */
export function relation<const R extends Relation>(description: R): R {
  return description
}

/** A table of the program's own. */
export function internal<const R extends Pick<Relation, 'name' | 'holds' | 'columns'> & Partial<Pick<Relation, 'key'>>>(description: R) {
  return { key: [], ...description, type: 'table', isInternal: true } as const satisfies Relation
}

export function relationOf({ table, holds, key, fields }: Entity): Relation {
  return { name: table, type: 'table', holds, key, columns: fields }
}

/** A table for the store's row functions. @param columns default: all. */
export function specOf<R extends Relation>({ name, key, columns: all }: R, ...columns: readonly (keyof R['columns'] & string)[]) {
  const taken = Object.entries(all).filter(([column]) => columns.length === 0 || columns.includes(column))
  const kinds = taken.map(([column, { kind }]): [string, ColumnKind] => [column, kind as ColumnKind])
  return { table: name, key, columns: Object.fromEntries(kinds) }
}

/** `specOf` without some of its columns. */
export function specWithout<R extends Relation>(relation: R, ...left: readonly (keyof R['columns'] & string)[]) {
  const { columns, ...spec } = specOf(relation)
  return { ...spec, columns: Object.fromEntries(Object.entries(columns).filter(([column]) => !left.includes(column))) }
}

type Spec = Pick<Entity, 'table' | 'key' | 'columns'>
const specsWithoutRaw = new WeakMap<Entity, Spec>()

/** An entity for the row functions, without `raw`: always the same object, because it is the key of SQLite's cached statements. */
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

/** The type of a table or view for kysely. */
export type TableOf<R extends Relation> = { -readonly [C in keyof R['columns']]: R['columns'][C] extends Column<infer T> ? T : never }

/** Properties of a column that is not set by the program or not of the class `none`. */
type More = Partial<Pick<DescribedColumn, 'source' | 'class' | 'cents'>>

function column<T>(kind: Column['kind'], meaning: string, more: More): Column<T> {
  return { kind, class: 'none', source: 'program', meaning, ...more }
}

/* A column of each kind. The meaning is one sentence without its full stop; internal tables may omit it. */

export const text = <T extends string = string>(meaning = '', more: More = {}) => column<T>('text', meaning, more)
export const int = (meaning = '', more: More = {}) => column<number>('int', meaning, more)
export const real = (meaning = '', more: More = {}) => column<number>('real', meaning, more)
export const bool = (meaning = '', more: More = {}) => column<boolean>('bool', meaning, more)
export const json = <T extends Json = Json>(meaning = '', more: More = {}) => column<T>('json', meaning, more)
export const time = (meaning = '', more: More = {}) => column<TimeText>('time', meaning, more)
export const raw = (meaning = '', more: More = {}) => column<string>('raw', meaning, more)
export const bytes = (meaning = '') => column<Buffer>('bytes', meaning, {})
/** A whole number that the database assigns. */
export const serial = (meaning = '') => column<Generated<number>>('int', meaning, {})

/** Equal columns without a meaning of their own. */
export function each<C extends Column, N extends string>(column: C, ...names: readonly N[]): { readonly [K in N]: C } {
  return Object.fromEntries(names.map((name) => [name, column])) as { readonly [K in N]: C }
}

export function orNull<T>(of: Column<T>): Column<T | null> {
  return { ...of, isNullable: true } as Column<T | null>
}

/** Columns that a view takes unchanged from a table of the mirror. */
export function copied<E extends Entity, C extends keyof E['columns'] & keyof RowOf<E> & string>(from: E, ...columns: readonly C[]) {
  const taken = columns.map((name) => {
    const field = from.fields[name]
    if (field === undefined) throw new Error(`${from.table} has no column ${name}`)
    return [name, { ...field, source: `\`${from.table}\`` }]
  })
  return Object.fromEntries(taken) as { readonly [K in C]: Column<RowOf<E>[K]> }
}
