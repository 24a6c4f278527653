import { entityNamed } from './entities.ts'
import type { Field, ProtectionClass, Row } from './entity.ts'

/** What stands in the place of a value that is only shown to whoever asks for it, by row. */
export const MASK = '••••'

const MASKED: readonly ProtectionClass[] = ['personal', 'free', 'document', 'tax id']

/** Whether values of a column are masked until somebody asks for them. */
export function isMasked(field: Pick<Field, 'kind' | 'class' | 'shown'>): boolean {
  return field.kind === 'raw' || (field.shown !== true && MASKED.includes(field.class))
}

/**
 * @param row some or all columns of a row.
 * @returns the row with masks in the place of personal values; null stays null. Of a table that nobody knows everything is masked.
 */
export function maskedRow(table: string, row: Row): Row {
  const fields = entityNamed(table)?.fields ?? {}
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      const field = fields[column]
      return [column, value === null || (field !== undefined && !isMasked(field)) ? value : MASK]
    }),
  )
}
