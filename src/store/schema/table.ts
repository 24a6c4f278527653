import type { Generated } from 'kysely'
import type { ColumnKind, DescribedColumn, Entity, RowOf } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** A column of a table or view beside the mirror. `T` is the type of its values. */
export interface Column<T = unknown> extends Omit<DescribedColumn, 'kind'> {
  readonly kind: ColumnKind | 'bytes'
  readonly isNullable?: true
  /** For the type alone: it is never set. */
  readonly value?: T
}

/** A table or view. From it follow its type for kysely, how SQLite's values are read, the data dictionary, and the comments in Postgres. */
export interface Relation {
  readonly name: string
  readonly type: 'table' | 'view'
  /** A table of the program's own, which a release may change without notice. */
  readonly isInternal?: true
  /** What it holds, in sentences; of an internal table in a phrase. */
  readonly holds: string
  /** Key columns in order; of a view none, of an internal table where rows are read and written by it. */
  readonly key: readonly string[]
  /** In the order of the table; of an internal table in any. */
  readonly columns: Readonly<Record<string, Column>>
  /** Paragraphs on what a column's sentence has no room for. */
  readonly notes?: readonly string[]
}

/** A table or view that readers may use. */
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

/** A table as the row functions of the store take it. @param columns default: all. */
export function specOf<R extends Relation>({ name, key, columns: all }: R, ...columns: readonly (keyof R['columns'] & string)[]) {
  const taken = Object.entries(all).filter(([column]) => columns.length === 0 || columns.includes(column))
  const kinds = taken.map(([column, { kind }]): [string, ColumnKind] => [column, kind as ColumnKind])
  return { table: name, key, columns: Object.fromEntries(kinds) }
}

/** The same without some of its columns. */
export function specWithout<R extends Relation>(relation: R, ...left: readonly (keyof R['columns'] & string)[]) {
  const { columns, ...spec } = specOf(relation)
  return { ...spec, columns: Object.fromEntries(Object.entries(columns).filter(([column]) => !left.includes(column))) }
}

type Spec = Pick<Entity, 'table' | 'key' | 'columns'>
const specsWithoutRaw = new WeakMap<Entity, Spec>()

/** An entity as the row functions take it, without `raw`: always the same object, since SQLite's statements are kept by it. */
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

/** What is to be said of a column when it is not set by the program, or not of the class `none`. */
type More = Partial<Pick<DescribedColumn, 'source' | 'class' | 'cents'>>

function column<T>(kind: Column['kind'], meaning: string, more: More): Column<T> {
  return { kind, class: 'none', source: 'program', meaning, ...more }
}

/*
 * A column of each kind. The meaning is one sentence, without its full stop; columns of internal tables have one where the name does not tell.
 */

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

export function orNull<T>(of: Column<T>): Column<T | null> {
  return { ...of, isNullable: true } as Column<T | null>
}

/** Columns that a view takes from a table of the mirror as they are. */
export function copied<E extends Entity, C extends keyof E['columns'] & keyof RowOf<E> & string>(from: E, ...columns: readonly C[]) {
  const taken = columns.map((name) => {
    const field = from.fields[name]
    if (field === undefined) throw new Error(`${from.table} has no column ${name}`)
    return [name, { ...field, source: `\`${from.table}\`` }]
  })
  return Object.fromEntries(taken) as { readonly [K in C]: Column<RowOf<E>[K]> }
}
