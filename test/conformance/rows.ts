import { type Row, rows as rowsOfSpecification } from '../../src/client/openapi/rows.ts'

/**
 * Each line of the specification's tables, in its order: the machine-readable list by which `npm run conformance` goes. It is made in the
 * product, whose `doctor --conformance` goes by it too.
 */
export const rows: readonly Row[] = rowsOfSpecification
