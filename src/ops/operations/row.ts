import { z } from 'zod'
import { readableRow } from '../../model/damaged.ts'
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
  summary: 'show one row whole: personal values as they are, and the object of the service',
  description:
    'Who saw it by HTTP is noted in `operator_actions`. Values that `PROTECT` dropped or encrypted stay as they are stored. ' +
    "`key` is the `row_key` of a list: the parts of the table's key in their order, each percent-encoded, with `/` between them; in a path " +
    'the whole is encoded once more as one part (`default%2F5f0c…`).',
  role: 'operator',
  http: 'GET /rows/:table/:key',
  input: z.strictObject({
    table: z.enum([first, ...others]).meta({ description: 'its table', examples: ['changes'] }),
    key: z
      .string()
      .min(1)
      .max(LONGEST_KEY)
      .meta({ description: 'its `row_key`', examples: ['1'] }),
  }),
  argument: 'key',
  output: record('ShownRow', {
    table: z.string(),
    row_key: z.string(),
    row: z
      .record(z.string(), z.unknown())
      .describe('every column; `raw` (and other columns of that kind) is the JSON text of the object as the service sent it'),
  }),
  shows: ({ row }, { table, key }) => {
    const { account = null, submission_id = null } = row as Row
    return { target: table, detail: { account, submission_id, key: key.slice(0, NOTED_LENGTH) } }
  },
  run: async (c, { table, key }) => {
    const spec = publicTables.find((each) => each.table === table)
    const parts = partsOfRowKey(key)
    const row = spec && parts?.length === spec.key.length ? await findRow(c.db.read, spec, parts) : null
    if (row === null) throw new NotFoundError([`there is no such row of ${table}`])
    return { table, row_key: key, row: readableRow(row) }
  },
  print: (to, { row }) => to.line(fieldsText(row)),
})

/** `row show` */
export const operations = [show]
