import { z } from 'zod'
import type { Entity, Field } from '../../model/entity.ts'
import { jsonTypes } from '../../model/json-types.ts'
import { isMasked, MASK } from '../../model/masking.ts'
import { hidden } from './hidden.ts'
import { rowKeySchema } from './inputs.ts'

/** The schema of a table's rows without the service's own objects, by its descriptor. */
export function rowSchemaOf(entity: Entity) {
  const columns = Object.entries(entity.fields).flatMap(([column, field]) =>
    field.kind === 'raw' ? [] : [[column, columnSchema(field, entity.key.includes(column))] as const],
  )
  const shape = { row_key: rowKeySchema, ...Object.fromEntries(columns) }
  return z.object(shape).meta({ id: nameOf(entity.table), description: entity.holds })
}

/** As anybody may have stored anything on SQLite, the type is told and not enforced. */
function columnSchema(field: Field, isKey: boolean) {
  const { type, format } = jsonTypes[field.kind]
  const isPersonal = isMasked(field)
  const masked = isPersonal ? `; \`${MASK}\` in its place: ask for the row to see it` : ''
  const description = `${field.meaning}${field.cents ? ', in cents' : ''}${masked}`
  const schema = z.unknown().meta({ ...(type && { type: isKey ? type : [type, 'null'] }), ...(format && { format }), description })
  return isPersonal ? hidden(schema, () => MASK) : schema
}

/** `market_readiness` → `MarketReadinessRow`. */
function nameOf(table: string): string {
  const words = table.split('_').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  return `${words.join('')}Row`
}
