import type { ColumnKind } from './entity.ts'

/** JSON Schema type of each kind of column. `json` allows any type. */
export const jsonTypes: Readonly<Record<ColumnKind, { readonly type?: string; readonly format?: string }>> = {
  text: { type: 'string' },
  raw: { type: 'string' },
  int: { type: 'integer' },
  real: { type: 'number' },
  bool: { type: 'boolean' },
  json: {},
  time: { type: 'string', format: 'date-time' },
  date: { type: 'string', format: 'date' },
}
