import { z } from 'zod'
import { includesRole } from '../../config/schema/roles.ts'
import { isOfReason, reasonOf } from '../../model/failure-reasons.ts'
import { maskedText } from '../../model/masking.ts'
import { type FailedRow, failedRows } from '../../store/outbox/queries.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { record, time } from '../output/schema.ts'
import { personalValuesOf } from './exchange.ts'
import { name, pageOf, whole } from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'
import { errorFor } from './outbox-parts.ts'

/** Maximum failed rows that are read for each state, and maximum reasons that are listed. */
const MOST_ROWS = 2_000
const MOST_REASONS = 50

const failure = record('Failure', {
  state: z.enum(['dead', 'unknown', 'retrying']),
  status: z.int().nullable().describe('of the last answer; null if there was none'),
  reason: z.string().nullable().describe('the failure, with `…` for parts that differ; usable as `reason` of `outbox list`'),
  changes: z.int(),
  submissions: z.int(),
  last_at: time.nullable().describe('end of the last of these attempts'),
  is_complete: z.boolean().describe('false if there may be more'),
})

export const failures = operation({
  name: 'destination.failures',
  summary: 'list why changes failed at a destination, by state, status and reason, most frequent first',
  description:
    `Covers the newest ${MOST_ROWS} dead-lettered changes, the newest ${MOST_ROWS} with an unknown outcome, and the oldest ${MOST_ROWS} that wait. Lists up to ` +
    `${MOST_REASONS} reasons. Viewers don't see the answers of the destination.`,
  role: 'viewer',
  http: 'GET /destinations/:name/failures',
  input: z.strictObject({ name: name.describe('destination name') }),
  argument: 'name',
  output: pageOf(failure),
  run: async (c, { name: destination }) => {
    await refuseUnknownNames(c.db.read, c.config, { destination })
    const { rows, hasMore } = await failedRows(c.db.read, destination, MOST_ROWS)
    const groups = await groupsOf(c, rows)
    return whole(groups.map((group) => ({ ...group, is_complete: !hasMore })))
  },
  table: ['Failures, most frequent first', ['state', 'status', 'reason', 'changes', 'submissions', 'last_at'], 'No failures.'],
})

/** A failed row, with the error that the requester may see. `reason` is the error with `…` for parts that vary. */
interface Failed {
  readonly row: FailedRow
  readonly error: string | null
  readonly reason: string | null
}

async function groupsOf(c: OperationContext, rows: readonly FailedRow[]) {
  const isWhole = includesRole(c.role, 'operator')
  const errorOf = errorFor(c)
  let left = rows.map((row): Failed => {
    const error = errorOf(row)
    return { row, error, reason: error === null ? null : reasonOf(maskedText(error, [row.insured_name ?? ''])) }
  })
  const groups: Omit<z.input<typeof failure>, 'is_complete'>[] = []
  while (left.length > 0 && groups.length < MOST_REASONS) {
    const sample = mostFrequent(left)
    const { state, status } = sample.row
    const personal = isWhole && sample.reason !== null ? await personalValuesOf(c.db.read, sample.row) : []
    const reason = sample.reason === null ? null : reasonOf(maskedText(sample.reason, personal))
    const isAlike = (one: Failed) =>
      one.row.state === state && one.row.status === status && (reason === null ? one.error === null : isOfReason(one.error ?? '', reason))
    const alike = left.filter((one) => one === sample || isAlike(one)).map(({ row }) => row)
    const submissions = new Set(alike.map(({ account, submission_id: id }) => `${account} ${id}`)).size
    const last_at = alike
      .map(({ tried_at: at }) => at)
      .reduce((last, at) => (at !== null && (last === null || at > last) ? at : last), null)
    groups.push({ state, status, reason, changes: alike.length, submissions, last_at })
    left = left.filter((one) => one !== sample && !isAlike(one))
  }
  return groups.sort((a, b) => b.changes - a.changes)
}

function mostFrequent(rows: readonly Failed[]): Failed {
  const groups = Map.groupBy(rows, ({ row, reason }) => JSON.stringify([row.state, row.status, reason]))
  return [...groups.values()].reduce((most, group) => (group.length > most.length ? group : most))[0] as Failed
}
