import { z } from 'zod'
import type { Row } from '../../model/entity.ts'
import { maskedRow } from '../../model/masking.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter } from '../../store/changes/reader.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { ConflictError, GoneError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { name, noCursor, ofAccount, pageOf, paging } from './inputs.ts'
import { operation } from './operation.ts'

/** Rows of the log that one page looks at: a filter that meets few of them must not read all. */
const MOST_LOOKED_AT = 50_000

const columns = (what: string) =>
  hidden(z.record(z.string(), z.unknown()).nullable().describe(what), (row, { entity }: { readonly entity: string }) =>
    maskedRow(entity, row as Row),
  )

const change = record('LoggedChange', {
  seq: z.int().describe('its number; the log has no gaps'),
  changed_at: time,
  account: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string().describe('the table'),
  entity_id: z.string().describe('the key behind the account, as the text of a JSON list'),
  operation: z.string().describe('`insert`, `update`, `gone`, `purged`'),
  cause: z.string().describe('`webhook`, `poll`, `backfill`, `reconcile`, `command`'),
  before: columns('the columns that changed, as they were'),
  after: columns('the columns that changed, as they are; all of them on insert'),
})

const list = operation({
  name: 'changes.list',
  summary: 'list the rows of the change log, in order',
  description:
    'What changed in which table of which submission. A reader goes on with the `seq` of the last change that it has as `after`, and gives the ' +
    '`log_epoch` that it read it under as `epoch`: after a restore the log has another, and the reader starts over. With a filter a page may be ' +
    'short, or empty; the list ends when `next_cursor` is null.',
  role: 'viewer',
  http: 'GET /changes',
  goesOn: true,
  tool: 'changes_since',
  toolFields: { after: 'seq' },
  input: z.strictObject({
    after: z.int().min(0).optional().describe('only behind the change of this number (`seq`); from the oldest on when left out'),
    epoch: name.optional().describe('the log epoch of that number: it is refused when the log has another'),
    entity: name.optional().describe('only of this table'),
    account: ofAccount,
    ...paging,
  }),
  output: pageOf(change).extend({
    log_epoch: z.string().describe('the numbering that the log has now'),
    first_seq: z.int().describe('the oldest number that is kept'),
    last_seq: z.int().describe('the newest number'),
  }),
  run: async (c, { after, epoch, entity, account, limit, cursor }) => {
    await refuseUnknownNames(c.db.read, c.config, { account })
    // Before the rows: whatever it counts can be read by then.
    const { log_epoch, first_seq, last_seq } = await infoOf(c.db.read)
    if (epoch !== undefined && epoch !== log_epoch)
      throw new ConflictError([`the log epoch is ${log_epoch}, not ${epoch}: a reader of that one starts over`], { log_epoch, epoch })
    const from = seqIn(cursor) ?? after ?? first_seq - 1
    if (from < first_seq - 1)
      throw new GoneError([`changes before ${first_seq} are no longer kept: start over from the tables, or from there`], { first_seq })
    const until = Math.min(last_seq, from + MOST_LOOKED_AT)
    const found = await changesAfter(c.db.read, from, limit + 1, { account, entity, until })
    const items = found.slice(0, limit)
    const end = found.length > limit ? (items.at(-1)?.seq ?? from) : until
    return { items, next_cursor: end < last_seq ? String(end) : null, log_epoch, first_seq, last_seq }
  },
  table: [
    'Changes, the oldest first',
    ['seq', 'changed_at', 'account', 'submission_id', ['change', (each) => `${each.entity}.${each.operation}`], 'entity_id', 'cause'],
    'No change.',
  ],
})

/** The number in a cursor of this list, which is that number. */
function seqIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  if (!/^\d{1,15}$/.test(cursor)) throw noCursor()
  return Number(cursor)
}

/** `changes list` */
export const operations = [list]
