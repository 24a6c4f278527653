import type { DescribedColumn, Entity } from '../../../model/entity.ts'

/** A public table or view, as readers are told of it. */
export interface Relation {
  readonly name: string
  readonly type: 'table' | 'view'
  /** What it holds, in sentences. */
  readonly holds: string
  /** Key columns in order; of a view none. */
  readonly key: readonly string[]
  /** In the order of the table. */
  readonly columns: Readonly<Record<string, DescribedColumn>>
  /** Paragraphs on what a column's sentence has no room for. */
  readonly notes?: readonly string[]
}

export function relationOf({ table, holds, key, fields }: Entity): Relation {
  return { name: table, type: 'table', holds, key, columns: fields }
}

/** Columns that a view takes from a table as they are. */
export function copied(from: Entity, ...columns: readonly string[]): Record<string, DescribedColumn> {
  return Object.fromEntries(
    columns.map((column) => {
      const field = from.fields[column]
      if (field === undefined) throw new Error(`${from.table} has no column ${column}`)
      return [column, { ...field, source: `\`${from.table}\`` }]
    }),
  )
}
