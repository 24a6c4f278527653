import type { Json } from './json.ts'
import type { Feed, ReadKind, StateRead } from './reads.ts'
import type { TimeText } from './time.ts'

/**
 * Type of a column, the same on both databases:
 * - `int`: a safe integer
 * - `json`: any JSON value; SQL NULL is null
 * - `time`: a TimeText
 * - `date`: YYYY-MM-DD
 * - `raw`: JSON text as received, in a form that both databases can store; never in the change log
 */
export type ColumnKind = 'text' | 'int' | 'real' | 'bool' | 'json' | 'time' | 'date' | 'raw'

type KindValue = { text: string; int: number; real: number; bool: boolean; json: Json; time: TimeText; date: string; raw: string }

/**
 * Protection class of a column. A destination gets `personal`, `free`, and `document` columns only if it requests them.
 * - `none`: ids, states, times
 * - `business`: confidential between brokerage, service, and market
 * - `personal`: may name a person
 * - `free`: free text
 * - `document`: location of a person's documents
 * - `tax id`: never sent to destinations
 */
export type ProtectionClass = 'none' | 'business' | 'personal' | 'free' | 'document' | 'tax id'

/** A column of any public table or view. */
export interface DescribedColumn {
  readonly kind: ColumnKind
  readonly class: ProtectionClass
  /** Origin of the value: a field of the service's object, or the part of the program that sets the value. */
  readonly source: string
  /** One sentence without a period, for the data dictionary. */
  readonly meaning: string
  /** True if the value is in cents. */
  readonly cents?: true
}

/** A column of a table of service data. */
export interface Field extends DescribedColumn {
  /** Path in the service's object: keys joined by dots. Omitted if the value isn't a field of the object. */
  readonly path?: string
  /**
   * How to read a value of the service, in addition to its kind:
   * - `id`: a UUID in lower case, or any other id
   * - `uuid`: only a UUID
   * - `key`: an id that is part of the table's key
   * - `any`: any JSON value, not only a list
   * - `text`: the JSON inside a text
   */
  readonly as?: 'id' | 'uuid' | 'key' | 'any' | 'text'
  /** The specification allows null. A missing field then also means null, because the service may omit nulls. */
  readonly nullable?: true
  /** If this value is missing or unreadable, the whole object counts as unreadable. */
  readonly required?: true
  /**
   * How to make a key that the service doesn't send. The key is the value of column `own`. If that value is missing,
   * the key is a hash of the columns `hashed`.
   */
  readonly madeOf?: { readonly own?: string; readonly hashed: readonly string[] }
  /** Part of a record's identity. The value must not change after it is set. */
  readonly identity?: true
  /** The value is computed from the records of this feed. */
  readonly derivedFrom?: Feed
  /** The mirror sets this column, not the service. */
  readonly local?: true
  /** The value may differ in every answer. The newest value is stored, but isn't part of a change. */
  readonly volatile?: true
  /**
   * A link, or an object with links. The newest link is stored. If only the part after `?` or `#` changes, the change
   * isn't logged, pushed, or reported.
   */
  readonly link?: true
  /**
   * The read that sets this column. Default: the table's own read (`EntityDescription.read`). If only this read ever
   * showed a row, this read can mark the row as gone. Otherwise, only the table's own read can.
   */
  readonly read?: StateRead
  /** Shown unmasked despite its class, because people search for submissions by this value. */
  readonly shown?: true
  /** A text column. If the service sends a value of another type, the column stores the JSON text of that value. */
  readonly mayHoldJson?: true
}

/** Declaration of a column. `path` defaults to the column's name, and `source` to `path`. */
export type FieldDescription = Omit<Field, 'source'> & { readonly source?: string }

/** Declaration of a table of service data. All handling of the table follows from this declaration. */
export interface EntityDescription {
  readonly table: string
  /** What the table contains, in sentences for the data dictionary. */
  readonly holds: string
  /** The read that returns the rows. `document`: the rows are computed from other tables, and the files are fetched. */
  readonly read: ReadKind | 'document'
  /** Key columns in order, starting with `account`. */
  readonly key: readonly string[]
  /** Table of the parent rows. If a parent row is gone, its rows in this table are gone too. */
  readonly parent?: string
  /** A missing field means null. Without this, a missing field means "unchanged", except for a `nullable` field. */
  readonly absentIsNull?: true
  /** All columns, in the order of the table. Without a column `gone_at`, rows are never marked as gone. */
  readonly fields: Readonly<Record<string, FieldDescription>>
}

export interface Entity extends EntityDescription {
  readonly fields: Readonly<Record<string, Field>>
  /** Kind of each column, in the order of the table. */
  readonly columns: Readonly<Record<string, ColumnKind>>
}

type ColumnsOf<D extends EntityDescription> = { readonly [C in keyof D['fields']]: D['fields'][C]['kind'] }

type Complete<D extends EntityDescription> = Omit<D, 'fields'> & {
  readonly fields: { readonly [C in keyof D['fields']]: D['fields'][C] & Field }
  readonly columns: ColumnsOf<D>
}

export function entity<const D extends EntityDescription>(description: D): Complete<D> {
  const described = Object.entries(description.fields)
  const fields = Object.fromEntries(described.map(([column, field]) => [column, completed(column, field)]))
  const columns = Object.fromEntries(described.map(([column, { kind }]) => [column, kind]))
  return { ...description, fields, columns } as unknown as Complete<D>
}

function completed(column: string, field: FieldDescription): Field {
  if (field.source !== undefined) return { ...field, source: field.source }
  const { path = column } = field
  return { ...field, path, source: `\`${path}\`` }
}

/** A row of an entity. Key columns are never null; all other columns can be. */
export type RowOf<E extends { readonly key: readonly string[]; readonly columns: Readonly<Record<string, ColumnKind>> }> = {
  -readonly [C in keyof E['columns']]: C extends E['key'][number] ? KindValue[E['columns'][C]] : KindValue[E['columns'][C]] | null
}

export type Row = { [column: string]: Json }

/** @returns the columns for which `is` returns true, in the order of the table. */
export function columnsWhere(of: Pick<Entity, 'fields'>, is: (field: Field) => boolean): string[] {
  return Object.entries(of.fields).flatMap(([column, field]) => (is(field) ? [column] : []))
}

/** True if a column is part of the change log and of pushes. */
export function isInChangeLog({ kind, volatile }: Field): boolean {
  return kind !== 'raw' && volatile !== true
}

/** @returns the key columns except `account` and `submission_id`. */
export function ownKey(of: Pick<EntityDescription, 'key'>): string[] {
  return of.key.filter((column) => column !== 'account' && column !== 'submission_id')
}

export function identityOf(of: Pick<Entity, 'fields'>): string[] {
  return columnsWhere(of, ({ identity }) => identity === true)
}
