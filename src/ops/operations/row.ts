import { z } from 'zod'
import type { Row } from '../../model/entity.ts'
import { partsOfRowKey } from '../../model/row-key.ts'
import { findRow, publicTables } from '../../store/mirror/public-rows.ts'
import { NotFoundError } from '../output/refusals.ts'
import { record } from '../output/schema.ts'
import { fieldsText } from '../output/text.ts'
import { LONGEST_KEY } from './inputs.ts'
import { operation } from './operation.ts'

const NOTED_LENGTH = 500

const [first = '', ...others] = publicTables.map(({ table }) => table)

const show = operation({
  name: 'row.show',
  summary: 'show one row with unmasked personal values and the original JSON of the service',
  description:
    'Viewing over HTTP is recorded in `operator_actions`. Values that `PROTECT` dropped or encrypted are shown as stored. `key` is the `row_key` ' +
    'of a list. In a path, encode the whole key again (`default%2F5f0c…`).',
  role: 'operator',
  http: 'GET /rows/:table/:key',
  input: z.strictObject({
    table: z.enum([first, ...others]).meta({ description: 'table name', examples: ['changes'] }),
    key: z
      .string()
      .min(1)
      .max(LONGEST_KEY)
      .meta({ description: '`row_key` from a list', examples: ['1'] }),
  }),
  argument: 'key',
  output: record('ShownRow', {
    table: z.string(),
    row_key: z.string(),
    row: z.record(z.string(), z.unknown()).describe('all columns; `raw` columns contain the JSON text from the service'),
  }),
  shows: ({ row }, { table, key }) => {
    const { account = null, submission_id = null } = row as Row
    return { target: table, detail: { account, submission_id, key: key.slice(0, NOTED_LENGTH) } }
  },
  run: async (c, { table, key }) => {
    const spec = publicTables.find((each) => each.table === table)
    const parts = partsOfRowKey(key)
    const row = spec && parts?.length === spec.key.length ? await findRow(c.db.read, spec, parts) : null
    if (row === null) throw new NotFoundError([`${table} has no row with this key`])
    return { table, row_key: key, row }
  },
  print: (to, { row }) => to.line(fieldsText(row)),
})

export const operations = [show]
