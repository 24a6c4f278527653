import type { Generated } from 'kysely'
import type { ColumnKind, DescribedColumn, Entity, RowOf } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** A column of a table or view outside the mirror. `T` is the value type. */
export interface Column<T = unknown> extends Omit<DescribedColumn, 'kind'> {
  readonly kind: ColumnKind | 'bytes'
  readonly isNullable?: true
  /** For the type only: never set. */
  readonly value?: T
}

/** A table or view. Defines the kysely type, the conversion of SQLite values, the data dictionary, and the Postgres comments. */
export interface Relation {
  readonly name: string
  readonly type: 'table' | 'view'
  /** Marks an internal table, which a release may change without notice. */
  readonly isInternal?: true
  /** Contents in sentences; one phrase for an internal table. */
  readonly holds: string
  /** Key columns in order. Empty for views, and for internal tables whose rows are not accessed by key. */
  readonly key: readonly string[]
  /** In table order; in any order for an internal table. */
  readonly columns: Readonly<Record<string, Column>>
  /** Further paragraphs about columns. */
  readonly notes?: readonly string[]
}

/** A public table or view. */
export function relation<const R extends Relation>(description: R): R {
  return description
}

/** Declares an internal table. */
export function internal<const R extends Pick<Relation, 'name' | 'holds' | 'columns'> & Partial<Pick<Relation, 'key'>>>(description: R) {
  return { key: [], ...description, type: 'table', isInternal: true } as const satisfies Relation
}

export function relationOf({ table, holds, key, fields }: Entity): Relation {
  return { name: table, type: 'table', holds, key, columns: fields }
}

/** A spec for the store's row functions. @param columns default: all. */
export function specOf<R extends Relation>({ name, key, columns: all }: R, ...columns: readonly (keyof R['columns'] & string)[]) {
  const taken = Object.entries(all).filter(([column]) => columns.length === 0 || columns.includes(column))
  const kinds = taken.map(([column, { kind }]): [string, ColumnKind] => [column, kind as ColumnKind])
  return { table: name, key, columns: Object.fromEntries(kinds) }
}

/** `specOf` without the columns `left`. */
export function specWithout<R extends Relation>(relation: R, ...left: readonly (keyof R['columns'] & string)[]) {
  const { columns, ...spec } = specOf(relation)
  return { ...spec, columns: Object.fromEntries(Object.entries(columns).filter(([column]) => !left.includes(column))) }
}

type Spec = Pick<Entity, 'table' | 'key' | 'columns'>
const specsWithoutRaw = new WeakMap<Entity, Spec>()

/** Spec of an entity without `raw`. Returns the same object each time, because it is the key of SQLite's cached statements. */
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

/** kysely type of a table or view. */
export type TableOf<R extends Relation> = { -readonly [C in keyof R['columns']]: R['columns'][C] extends Column<infer T> ? T : never }

/** Overrides of a column's defaults: set by the program, class `none`. */
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
/** An integer that the database assigns. */
export const serial = (meaning = '') => column<Generated<number>>('int', meaning, {})

/** Identical columns without a description. */
export function each<C extends Column, N extends string>(column: C, ...names: readonly N[]): { readonly [K in N]: C } {
  return Object.fromEntries(names.map((name) => [name, column])) as { readonly [K in N]: C }
}

export function orNull<T>(of: Column<T>): Column<T | null> {
  return { ...of, isNullable: true } as Column<T | null>
}

/** Columns that a view copies unchanged from a mirror table. */
export function copied<E extends Entity, C extends keyof E['columns'] & keyof RowOf<E> & string>(from: E, ...columns: readonly C[]) {
  const taken = columns.map((name) => {
    const field = from.fields[name]
    if (field === undefined) throw new Error(`${from.table} has no column ${name}`)
    return [name, { ...field, source: `\`${from.table}\`` }]
  })
  return Object.fromEntries(taken) as { readonly [K in C]: Column<RowOf<E>[K]> }
}
