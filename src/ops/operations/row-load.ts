import { z } from 'zod'
import { isDamaged, readableRow } from '../../model/damaged.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { parsedJson } from '../../model/json.ts'
import { maskedRow } from '../../model/masking.ts'
import { entityIdOf } from '../../model/row-key.ts'
import type { Query } from '../../store/engine/db.ts'
import { type KeyPlace, keyWithout, rowsInOrder } from '../../store/engine/keyset.ts'
import { refuseUnknownNames, tableNamed } from '../actions/names.ts'
import { record } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { name, noCursor, ofAccount, page, pageOf, paging, placeIn } from './inputs.ts'
import { copying, logEndsFor, logEpoch } from './log-position.ts'
import { operation } from './operation.ts'

const mirrored = record('MirroredRow', {
  account: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string().describe('the table'),
  entity_id: z.string().describe('the key behind the account, as the text of a JSON list: what changes of the row have'),
  row: hidden(z.record(z.string(), z.unknown()).describe('the columns that changes have'), (row, { entity }: { readonly entity: string }) =>
    maskedRow(entity, row as Row),
  ),
})

const load = operation({
  name: 'row.load',
  summary: 'all rows of a table of service data, page by page, for a first load',
  description:
    'Each page holds every change up to its `seq`, and may hold later ones. Load all tables, then follow `GET /api/v1/changes` behind the `seq` ' +
    'of the first page of the first table, which is the smallest of them, under its `log_epoch`: some changes are then already in the rows, and ' +
    'applying them in order again leads to the same. The copy is that of the mirror once it has reached the `seq` of the last page. ' +
    'A change of a row that was not loaded, but for an insert, can be left out: the row was purged, which is a later change.',
  role: 'viewer',
  http: 'GET /rows/:table',
  goesOn: true,
  withoutCommand: 'whoever has the database reads its tables by SQL',
  input: z.strictObject({
    table: name.describe('its table'),
    after: paging.cursor.describe('the `next_cursor` of the page before'),
    limit: paging.limit,
    account: ofAccount,
    ...copying,
  }),
  output: pageOf(mirrored).extend({
    next_cursor: z.string().nullable().describe('give it as `after` for the next page; null: this is the last'),
    log_epoch: logEpoch,
    seq: z.int().describe('the number of the newest change that the page surely holds'),
  }),
  shows: ({ items }, { table, account, whole }) =>
    whole && items.length > 0 ? { target: table, detail: { account: account ?? null, rows: items.length } } : null,
  run: async (c, { table, after, limit, account, epoch, whole }) => {
    const entity = tableNamed(table)
    await refuseUnknownNames(c.db.read, c.config, { account })
    const of: Row = account === undefined ? {} : { account }
    const place = after === undefined ? null : keyPlaceIn(c.db.read, entity, keyWithout(entity, of), after)
    // Before the rows: they hold whatever it counts.
    const { log_epoch, last_seq } = await logEndsFor(c, { epoch, whole })
    const rows = await rowsInOrder(c.db.read, entity, of, place, limit + 1)
    const { items, next_cursor } = page(rows, limit, (row) => [JSON.stringify(keyWithout(entity, of).map((column) => row[column]))])
    return { items: items.map((row) => mirroredRow(entity, row)), next_cursor, log_epoch, seq: last_seq }
  },
})

function mirroredRow(entity: Entity, row: Row): z.input<typeof mirrored> {
  const submission = row['submission_id']
  return {
    account: String(row['account']),
    submission_id: typeof submission === 'string' ? submission : null,
    entity: entity.table,
    entity_id: entityIdOf(entity, row),
    row: readableRow(row),
  }
}

/** The values of key columns in a cursor. On SQLite somebody may have stored a key that is no text: it goes the way it was read. */
function keyPlaceIn(q: Pick<Query, 'kind'>, entity: Entity, columns: readonly string[], cursor: string): KeyPlace {
  const [text] = placeIn(cursor, ['string'])
  const values = parsedJson(text)
  const isRight = (value: unknown, index: number) =>
    (q.kind === 'sqlite' && isDamaged(value as string)) ||
    (entity.columns[columns[index] ?? ''] === 'int' ? Number.isSafeInteger(value) : typeof value === 'string' && !value.includes('\0'))
  if (!Array.isArray(values) || values.length !== columns.length || !values.every(isRight)) throw noCursor()
  return values as unknown as KeyPlace
}

/** `GET /rows/{table}` */
export const operations = [load]
