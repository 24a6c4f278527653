import type { LoadOptions } from '../../config/config.ts'
import type { Operation } from '../../model/change.ts'
import { entities } from '../../model/entities.ts'
import { personalColumns } from '../../model/personal.ts'

const operations: readonly Operation[] = ['insert', 'update', 'gone', 'purged']

/** The names that filters of a destination may use. */
export const knownNames: NonNullable<LoadOptions['known']> = {
  entities: entities.map(({ table }) => table),
  operations,
  personalFields: personalColumns,
}
