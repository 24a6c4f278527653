import { z } from 'zod'
import type { Row } from '../../model/entity.ts'
import { maskedRow } from '../../model/masking.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter } from '../../store/changes/reader.ts'
import { growthOf } from '../actions/log-growth.ts'
import { tableNamed } from '../actions/names.ts'
import { GoneError, SignedOutError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { count, name, noCursor, ofAccount, pageOf, paging } from './inputs.ts'
import { copying, logEndsFor, logEpoch } from './log-position.ts'
import { type OperationContext, operation } from './operation.ts'

/** Maximum changes that one page reads. Without this limit, a filter with few matches would read the whole log. */
const MOST_LOOKED_AT = 50_000
/** Longest wait for new changes, in seconds. */
const LONGEST_WAIT_S = 30

const columns = (what: string) =>
  hidden(z.record(z.string(), z.unknown()).nullable().describe(what), (row, { entity }: { readonly entity: string }) =>
    maskedRow(entity, row as Row),
  )

const change = record('LoggedChange', {
  seq: z.int().describe('number of the change, without gaps'),
  changed_at: time,
  account: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string().describe('the table'),
  entity_id: z.string().describe('the key without the account, as a JSON list'),
  operation: z.string().describe('`insert`, `update`, `gone`, `purged`'),
  cause: z.string().describe('`webhook`, `poll`, `backfill`, `reconcile`, `command`'),
  before: columns('old values of the changed columns'),
  after: columns('new values of the changed columns; all columns on insert'),
})

const input = z.strictObject({
  after: z.int().min(0).optional().describe('only changes after this `seq`; all if omitted'),
  entity: name.optional().describe('only this table'),
  account: ofAccount,
  wait: count(LONGEST_WAIT_S).optional().describe('seconds to wait for the first change; ignored with a cursor'),
  ...copying,
  ...paging,
})

const list = operation({
  name: 'changes.list',
  summary: 'list the change log in order',
  description:
    'When `next_cursor` is null, you have all changes up to `last_seq`. To continue later, pass `last_seq` as `after` and `log_epoch` as `epoch`. ' +
    'After a restore the log has a new epoch, and you must start over. With a filter, a page before the end can be short or empty.',
  role: 'viewer',
  http: 'GET /changes',
  isFollowed: true,
  tool: 'changes_since',
  toolFields: { after: 'seq' },
  input,
  output: pageOf(change).extend({
    log_epoch: logEpoch,
    first_seq: z.int().describe('oldest stored number'),
    last_seq: z.int().describe('newest number'),
  }),
  shows: ({ items }, { account, entity, whole }) => {
    const [first, last] = [items[0]?.seq, items.at(-1)?.seq]
    if (!whole || first === undefined || last === undefined) return null
    return { target: entity ?? null, detail: { account: account ?? null, from: first, to: last, changes: items.length } }
  },
  run: async (c, asked) => {
    const { wait, cursor, entity } = asked
    if (entity !== undefined) tableNamed(entity)
    const read = pageReader(c, asked)
    if (wait === undefined || cursor !== undefined) return read()
    const signal = AbortSignal.any([c.signal, c.left])
    const readIfAllowed = async () => {
      if (!(await c.isStillAllowed())) throw new SignedOutError()
      return await read()
    }
    const answer = await growthOf(c.db).hold(readIfAllowed, hasChanges, wait * 1_000, signal)
    // If the process is stopping, throw. After an answer without changes, the client would ask again immediately.
    if (!hasChanges(answer)) c.signal.throwIfAborted()
    return answer
  },
  table: [
    'Changes, oldest first',
    ['seq', 'changed_at', 'account', 'submission_id', ['change', (each) => `${each.entity}.${each.operation}`], 'entity_id', 'cause'],
    'No changes.',
  ],
})

function hasChanges({ items, next_cursor }: { readonly items: readonly unknown[]; readonly next_cursor: string | null }): boolean {
  return items.length > 0 || next_cursor !== null
}

/** @returns a function that reads a page. Each further call continues after the changes of the previous call. */
function pageReader(c: OperationContext, asked: z.output<typeof input>) {
  const { account, entity, limit, cursor, after } = asked
  let from = seqIn(cursor) ?? after
  return async () => {
    // Read `last_seq` before the page, so that the last page contains every remaining match up to `last_seq`.
    const { log_epoch, first_seq: oldest, last_seq } = await logEndsFor(c, asked)
    const behind = from ?? oldest - 1
    refuseGone(behind, oldest)
    const until = Math.min(last_seq, behind + MOST_LOOKED_AT)
    const found = await changesAfter(c.db.read, behind, limit + 1, { account, entity, until })
    // Check again, because retention may have removed changes after the first check.
    const { first_seq } = await infoOf(c.db.read)
    if (from !== undefined) refuseGone(from, first_seq)
    const items = found.slice(0, limit)
    const end = found.length > limit ? (items.at(-1)?.seq ?? behind) : until
    from = Math.max(behind, end)
    return { items, next_cursor: end < last_seq ? String(end) : null, log_epoch, first_seq, last_seq }
  }
}

/** @throws GoneError if changes after the number `behind` are no longer stored. */
function refuseGone(behind: number, first_seq: number): void {
  if (behind < first_seq - 1)
    throw new GoneError([`changes before ${first_seq} are no longer kept. Load the tables again, or continue from change ${first_seq}`], {
      first_seq,
    })
}

function seqIn(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  if (!/^\d{1,15}$/.test(cursor)) throw noCursor()
  return Number(cursor)
}

export const operations = [list]
