import type { Json } from './json.ts'
import type { Feed, ReadKind } from './reads.ts'
import type { TimeText } from './time.ts'

/**
 * What a column holds, the same on both databases:
 * `text`, `int` (a safe integer), `real`, `bool`, `json` (any JSON value; SQL NULL is null), `time` (TimeText), `date` (YYYY-MM-DD),
 * `raw` (JSON text exactly as kept; never compared for the change log).
 */
export type ColumnKind = 'text' | 'int' | 'real' | 'bool' | 'json' | 'time' | 'date' | 'raw'

type KindValue = { text: string; int: number; real: number; bool: boolean; json: Json; time: TimeText; date: string; raw: string }

/**
 * How a column is to be treated.
 * - `none`: ids, states, times. `business`: confidential between brokerage, service and market.
 * - `personal`: names a person, or may. `free`: anything may stand in it. `document`: where a person's documents lie.
 *   No push holds any of these three, unless its destination asks for that column.
 * - `tax id`: no push ever holds it.
 */
export type ProtectionClass = 'none' | 'business' | 'personal' | 'free' | 'document' | 'tax id'

/** What is said of a column of any public table or view. */
export interface DescribedColumn {
  readonly kind: ColumnKind
  readonly class: ProtectionClass
  /** Where its value comes from: a field of the service's object, or who sets it. */
  readonly source: string
  /** One sentence, without its full stop. */
  readonly meaning: string
  /** An amount in cents. */
  readonly cents?: true
}

/** A column of a table of service data. */
export interface Field extends DescribedColumn {
  /** Part of what a record of a feed is known by: once it has a value, it never changes (invariant 4). */
  readonly identity?: true
  /** Follows from the records of a feed, so that nobody says it by itself. */
  readonly derivedFrom?: Feed
  /** Set here, not by the service. */
  readonly local?: true
  /** New at every read: alone it is no change, and no change tells it. */
  readonly volatile?: true
  /** Text that holds JSON where the service says more than words. */
  readonly mayHoldJson?: true
}

/** What is told of a table of service data; everything that the program does with the table follows from it. */
export interface EntityDescription {
  readonly table: string
  /** What the table holds, in sentences. */
  readonly holds: string
  /** The read that brings its rows. */
  readonly read: ReadKind
  /** Key columns in order, `account` first. */
  readonly key: readonly string[]
  /** Of rows that hang on others: the table of those. What hangs on a row that is gone is gone with it. */
  readonly parent?: string
  /** All columns, keys included, in the order of the table. A table that has no `gone_at` marks nothing as gone. */
  readonly fields: Readonly<Record<string, Field>>
}

/** One public table of service data. */
export interface Entity extends EntityDescription {
  /** The kinds of all columns, keys included, in the order of the table. */
  readonly columns: Readonly<Record<string, ColumnKind>>
}

type ColumnsOf<D extends EntityDescription> = { readonly [C in keyof D['fields']]: D['fields'][C]['kind'] }

export function entity<const D extends EntityDescription>(description: D): D & { readonly columns: ColumnsOf<D> } {
  const columns = Object.fromEntries(Object.entries(description.fields).map(([column, { kind }]) => [column, kind]))
  return { ...description, columns: columns as ColumnsOf<D> }
}

/** A row of an entity as the code sees it: keys are never null, every other column may be. */
export type RowOf<E extends { readonly key: readonly string[]; readonly columns: Readonly<Record<string, ColumnKind>> }> = {
  -readonly [C in keyof E['columns']]: C extends E['key'][number] ? KindValue[E['columns'][C]] : KindValue[E['columns'][C]] | null
}

/** Any row: column name to value. */
export type Row = { [column: string]: Json }

/** Names of an entity's columns of which `is` holds, in the order of the table. */
export function columnsWhere(of: EntityDescription, is: (field: Field) => boolean): string[] {
  return Object.entries(of.fields).flatMap(([column, field]) => (is(field) ? [column] : []))
}

/** Whether the change log and pushes tell of a column. */
export function isTold({ kind, volatile }: Field): boolean {
  return kind !== 'raw' && volatile !== true
}

/** Key columns that tell one row of a submission from another. */
export function ownKey(of: Pick<EntityDescription, 'key'>): string[] {
  return of.key.filter((column) => column !== 'account' && column !== 'submission_id')
}

/** Identity columns (see `Field.identity`). */
export function identityOf(of: EntityDescription): string[] {
  return columnsWhere(of, ({ identity }) => identity === true)
}
