import { z } from 'zod'
import { publicTables } from '../../../store/mirror/public-rows.ts'
import { showRow } from '../../actions/rows.ts'
import { answersAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { LONGEST_KEY } from '../api/schemas.ts'

const [first = '', ...others] = publicTables.map(({ table }) => table)

const row = z
  .object({
    table: z.string(),
    row_key: z.string(),
    row: z.record(z.string(), z.unknown()).meta({
      description: 'every column; `raw` (and other columns of that kind) is the JSON text of the object as the service sent it',
    }),
  })
  .meta({ id: 'ShownRow' })

const show = {
  summary: 'one row whole: personal values as they are, and the object of the service',
  description:
    'Who saw it is noted in `operator_actions`. Values that `PROTECT` dropped or encrypted stay as they are stored. ' +
    "`key` is the `row_key` of a list: the parts of the table's key in their order, each percent-encoded, with `/` between them, and the " +
    'whole encoded once more as one part of the path (`default%2F5f0c…`).',
  tags: ['rows'],
  params: z.strictObject({
    table: z.enum([first, ...others]),
    key: z.string().min(1).max(LONGEST_KEY),
  }),
  response: answersAbout('the row', row),
}

/** `GET /rows/:table/:key` */
export function addRows(api: Api, p: AdminParts): void {
  api.get('/rows/:table/:key', { schema: show }, async (request) => {
    const { table, key } = request.params
    return { table, row_key: key, row: await showRow(actionContextFor(p, request), table, key) }
  })
}
