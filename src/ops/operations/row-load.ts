import { z } from 'zod'
import type { Entity, Row } from '../../model/entity.ts'
import { parsedJson } from '../../model/json.ts'
import { maskedRow } from '../../model/masking.ts'
import { entityIdOf } from '../../model/row-key.ts'
import { type KeyPlace, keyWithout, rowsInOrder } from '../../store/engine/keyset.ts'
import { tableNamed } from '../actions/names.ts'
import { record } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { name, noCursor, ofAccount, page, pageOf, paging, placeIn } from './inputs.ts'
import { copying, logEndsFor, logEpoch } from './log-position.ts'
import { operation } from './operation.ts'

const mirrored = record('MirroredRow', {
  account: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string().describe('the table'),
  entity_id: z.string().describe('the key without the account, as a JSON list, as in changes'),
  row: hidden(z.record(z.string(), z.unknown()).describe('the columns, as in changes'), (row, { entity }: { readonly entity: string }) =>
    maskedRow(entity, row as Row),
  ),
})

const load = operation({
  name: 'row.load',
  summary: 'list all rows of a table of service data, for a first load',
  description:
    'Each page contains every change up to its `seq`, and maybe later ones. Load all tables, then follow `GET /api/v1/changes` after the `seq` ' +
    'of the first page of the first table, with its `log_epoch`. Some of these changes are already in the rows; applying them again in order is ' +
    'safe. The copy is consistent when it reaches the `seq` of the last page. Ignore an update of a row that you have not loaded: the row was ' +
    'purged, and that change follows.',
  role: 'viewer',
  http: 'GET /rows/:table',
  isFollowed: true,
  withoutCommand: 'use SQL if you have the database',
  input: z.strictObject({
    table: name.describe('table name'),
    after: paging.cursor.describe('`next_cursor` of the previous page'),
    limit: paging.limit,
    account: ofAccount,
    ...copying,
  }),
  output: pageOf(mirrored).extend({
    next_cursor: z.string().nullable().describe('`after` of the next page; null on the last page'),
    log_epoch: logEpoch,
    seq: z.int().describe('every change up to this number is in the page'),
  }),
  shows: ({ items }, { table, account, whole }) =>
    whole && items.length > 0 ? { target: table, detail: { account: account ?? null, rows: items.length } } : null,
  run: async (c, { table, after, limit, account, epoch, whole }) => {
    const entity = tableNamed(table)
    const of: Row = account === undefined ? {} : { account }
    const place = after === undefined ? null : keyPlaceIn(entity, keyWithout(entity, of), after)
    // Read `last_seq` before the rows. The rows then contain every change up to `last_seq`.
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
    row,
  }
}

/** @returns the values of the key columns in a cursor. @throws UsageError if the cursor is invalid. */
function keyPlaceIn(entity: Entity, columns: readonly string[], cursor: string): KeyPlace {
  const [text] = placeIn(cursor, ['string'])
  const values = parsedJson(text)
  const isRight = (value: unknown, index: number) =>
    entity.columns[columns[index] ?? ''] === 'int' ? Number.isSafeInteger(value) : typeof value === 'string' && !value.includes('\0')
  if (!Array.isArray(values) || values.length !== columns.length || !values.every(isRight)) throw noCursor()
  return values as unknown as KeyPlace
}

export const operations = [load]
