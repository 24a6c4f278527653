import type { Json } from './json.ts'
import type { Feed, ReadKind, StateRead } from './reads.ts'
import type { TimeText } from './time.ts'

/**
 * The type of a column on both databases: `text`, `int` (a safe integer), `real`, `bool`, `json` (any JSON value; SQL NULL is null), `time`
 * (TimeText), `date` (YYYY-MM-DD), `raw` (JSON text as received, made storable; never in the change log).
 */
export type ColumnKind = 'text' | 'int' | 'real' | 'bool' | 'json' | 'time' | 'date' | 'raw'

type KindValue = { text: string; int: number; real: number; bool: boolean; json: Json; time: TimeText; date: string; raw: string }

/**
 * How much protection a column needs. `none`: ids, states, times. `business`: confidential between brokerage, service and market.
 * Only sent to destinations that request them: `personal` (may name a person), `free` (free text), `document` (location of a person's
 * documents). `tax id`: never sent.
 */
export type ProtectionClass = 'none' | 'business' | 'personal' | 'free' | 'document' | 'tax id'

/** A column of any public table or view. */
export interface DescribedColumn {
  readonly kind: ColumnKind
  readonly class: ProtectionClass
  /** Where the value comes from: a field of the service's object, or the part of the program that sets it. */
  readonly source: string
  /** One sentence without a period. */
  readonly meaning: string
  /** Whether the value is in cents. */
  readonly cents?: true
}

/** A column of a table of service data. */
export interface Field extends DescribedColumn {
  /** Path in the service's object: keys joined by dots. Omitted if the object lacks the field. */
  readonly path?: string
  /**
   * How to read a service value, beyond its kind: `id` a lowercase uuid, or any other id; `uuid` only a uuid; `key` an id that is part of
   * the table's key; `any` value instead of a list; `text` the JSON inside a text.
   */
  readonly as?: 'id' | 'uuid' | 'key' | 'any' | 'text'
  /** The spec allows null. A missing field then means null too, because a service may omit nulls. */
  readonly nullable?: true
  /** Without a readable value the whole object is unreadable. */
  readonly required?: true
  /** Source of a key that the service doesn't send: column `own`, else the hash of columns `hashed`. */
  readonly madeOf?: { readonly own?: string; readonly hashed: readonly string[] }
  /** Part of a record's identity: never changes once set. */
  readonly identity?: true
  /** Computed from the records of a feed. */
  readonly derivedFrom?: Feed
  /** Set by the mirror, not by the service. */
  readonly local?: true
  /** Differs at every read: stored with every answer, never part of a change. */
  readonly volatile?: true
  /** A link, or an object with links. The newest is stored. If only the part after `?` or `#` changes, the change isn't logged, pushed or reported. */
  readonly link?: true
  /** A second read that sets the column. It marks rows as gone only if the table's own read never showed them. */
  readonly read?: StateRead
  /** Shown unmasked despite its class, because people find submissions by it. */
  readonly shown?: true
  /** Text; stores JSON if the service sends another type. */
  readonly mayHoldJson?: true
}

/** A column declaration. `source` defaults to `path`, and `path` to the column's name. */
export type FieldDescription = Omit<Field, 'source'> & { readonly source?: string }

/** A table of service data. Everything the program does with it follows from this description. */
export interface EntityDescription {
  readonly table: string
  /** The table's contents, in sentences. */
  readonly holds: string
  /** The read that returns rows. `document`: rows derive from other tables, and files are fetched. */
  readonly read: ReadKind | 'document'
  /** Key columns in order, `account` first. */
  readonly key: readonly string[]
  /** The table of parent rows. Rows are gone if their parent is. */
  readonly parent?: string
  /** A missing field means null, not "unchanged". */
  readonly absentIsNull?: true
  /** All columns in the order of the table. Rows of a table without `gone_at` are never marked as gone. */
  readonly fields: Readonly<Record<string, FieldDescription>>
}

export interface Entity extends EntityDescription {
  readonly fields: Readonly<Record<string, Field>>
  /** The kinds of all columns, in the order of the table. */
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

/** A row of an entity: keys are never null, all other columns may be. */
export type RowOf<E extends { readonly key: readonly string[]; readonly columns: Readonly<Record<string, ColumnKind>> }> = {
  -readonly [C in keyof E['columns']]: C extends E['key'][number] ? KindValue[E['columns'][C]] : KindValue[E['columns'][C]] | null
}

export type Row = { [column: string]: Json }

/** @returns the matching columns, in the order of the table. */
export function columnsWhere(of: Pick<Entity, 'fields'>, is: (field: Field) => boolean): string[] {
  return Object.entries(of.fields).flatMap(([column, field]) => (is(field) ? [column] : []))
}

/** Whether a column is part of the change log and of pushes. */
export function isInChangeLog({ kind, volatile }: Field): boolean {
  return kind !== 'raw' && volatile !== true
}

/** @returns the key columns after account and submission. */
export function ownKey(of: Pick<EntityDescription, 'key'>): string[] {
  return of.key.filter((column) => column !== 'account' && column !== 'submission_id')
}

export function identityOf(of: Pick<Entity, 'fields'>): string[] {
  return columnsWhere(of, ({ identity }) => identity === true)
}
