import { z } from 'zod'
import type { Row } from '../../model/entity.ts'
import { maskedRow } from '../../model/masking.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter } from '../../store/changes/reader.ts'
import { growthOf } from '../actions/log-growth.ts'
import { refuseUnknownNames, tableNamed } from '../actions/names.ts'
import { GoneError, SignedOutError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { count, name, noCursor, ofAccount, pageOf, paging } from './inputs.ts'
import { copying, logEndsFor, logEpoch } from './log-position.ts'
import { type OperationContext, operation } from './operation.ts'

/** Rows of the log that one page looks at: a filter that meets few of them must not read all. */
const MOST_LOOKED_AT = 50_000
/** Longest time that an answer is held. */
const LONGEST_WAIT_S = 30

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

const input = z.strictObject({
  after: z.int().min(0).optional().describe('only behind the change of this number (`seq`); from the oldest on when left out'),
  entity: name.optional().describe('only of this table'),
  account: ofAccount,
  wait: count(LONGEST_WAIT_S)
    .optional()
    .describe('seconds that the answer waits for a first change, if there is none yet; with a cursor it never waits'),
  ...copying,
  ...paging,
})

const list = operation({
  name: 'changes.list',
  summary: 'list the rows of the change log, in order',
  description:
    'What changed in which table of which submission. A reader that has read to the end, where `next_cursor` is null, has all up to `last_seq`. ' +
    'It goes on with that as `after`, and gives the `log_epoch` that it read it under as `epoch`: after a restore the log has another, and the ' +
    'reader starts over. With a filter a page may be short, or empty, before the end.',
  role: 'viewer',
  http: 'GET /changes',
  goesOn: true,
  tool: 'changes_since',
  toolFields: { after: 'seq' },
  input,
  output: pageOf(change).extend({
    log_epoch: logEpoch,
    first_seq: z.int().describe('the oldest number that is kept'),
    last_seq: z.int().describe('the newest number'),
  }),
  shows: ({ items }, { account, entity, whole }) => {
    const [first, last] = [items[0]?.seq, items.at(-1)?.seq]
    if (!whole || first === undefined || last === undefined) return null
    return { target: entity ?? null, detail: { account: account ?? null, from: first, to: last, changes: items.length } }
  },
  run: async (c, asked) => {
    const { wait, cursor, entity, account } = asked
    if (entity !== undefined) tableNamed(entity)
    await refuseUnknownNames(c.db.read, c.config, { account })
    const read = pageReader(c, asked)
    if (wait === undefined || cursor !== undefined) return read()
    const signal = AbortSignal.any([c.signal, c.left])
    const readIfAllowed = async () => {
      if (!(await c.isStillAllowed())) throw new SignedOutError()
      return await read()
    }
    const answer = await growthOf(c.db).hold(readIfAllowed, isTelling, wait * 1_000, signal)
    // With nothing to tell the reader would ask again at once, until nobody answers.
    if (!isTelling(answer)) c.signal.throwIfAborted()
    return answer
  },
  table: [
    'Changes, the oldest first',
    ['seq', 'changed_at', 'account', 'submission_id', ['change', (each) => `${each.entity}.${each.operation}`], 'entity_id', 'cause'],
    'No change.',
  ],
})

function isTelling({ items, next_cursor }: { readonly items: readonly unknown[]; readonly next_cursor: string | null }): boolean {
  return items.length > 0 || next_cursor !== null
}

/** Reads the page that is asked for; called again, it looks only at changes that have come since. */
function pageReader(c: OperationContext, asked: z.output<typeof input>) {
  const { account, entity, limit, cursor, after } = asked
  let from = seqIn(cursor) ?? after
  return async () => {
    // Before the rows: whatever it counts can be read by then.
    const { log_epoch, first_seq: oldest, last_seq } = await logEndsFor(c, asked)
    const behind = from ?? oldest - 1
    refuseGone(behind, oldest)
    const until = Math.min(last_seq, behind + MOST_LOOKED_AT)
    const found = await changesAfter(c.db.read, behind, limit + 1, { account, entity, until })
    // Retention may have removed what comes next before it was read.
    const { first_seq } = await infoOf(c.db.read)
    if (from !== undefined) refuseGone(from, first_seq)
    const items = found.slice(0, limit)
    const end = found.length > limit ? (items.at(-1)?.seq ?? behind) : until
    from = Math.max(behind, end)
    return { items, next_cursor: end < last_seq ? String(end) : null, log_epoch, first_seq, last_seq }
  }
}

/** @param behind the number behind which a reader goes on. @throws GoneError when what follows it is no longer kept. */
function refuseGone(behind: number, first_seq: number): void {
  if (behind < first_seq - 1)
    throw new GoneError([`changes before ${first_seq} are no longer kept: start over from the tables, or from there`], { first_seq })
}

/** The number in a cursor of this list, which is that number. */
function seqIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  if (!/^\d{1,15}$/.test(cursor)) throw noCursor()
  return Number(cursor)
}

/** `changes list` */
export const operations = [list]
