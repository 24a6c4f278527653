import { z } from 'zod'
import { inApplyTransaction } from '../../apply/apply.ts'
import type { Fact } from '../../model/facts.ts'
import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import { parseUuid } from '../../model/uuid.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { countKnownIds } from '../../store/reads/known-ids.ts'
import { forgetPurged } from '../../store/reads/purged.ts'
import { type ActionContext, idsForAudit, inSteps } from '../actions/context.ts'
import { accountNamed } from '../actions/names.ts'
import { isPassedOver, linesOf, recordsOf } from '../output/csv.ts'
import { record } from '../output/schema.ts'
import { firstProblems, pluralize } from '../output/text.ts'
import { inOneAccount, submissionId } from './inputs.ts'
import { operation } from './operation.ts'

const MOST_TRACKED = 10_000
/** Room for the most that may be tracked. */
const LIMIT_BYTES = 1024 * 1024
const COLUMN = 'submission_id'

const idFile = z.string().superRefine((text, issues) => {
  const { ids, problems } = readIdFile(text)
  const told = problems.length === 0 && ids.length === 0 ? ['it contains no ids'] : firstProblems(problems)
  if (told.length > 0) issues.addIssue({ code: 'custom', message: told.join('\n') })
})

/** Ids of what has one of its own. */
function idsOf(kind: KnownKind, description: string) {
  const id = z
    .string()
    .max(100)
    .refine((text) => parseUuid(text) !== null, `is no ${kind.replace('_', ' ')} id (a uuid)`)
    .overwrite((text) => parseUuid(text) ?? text)
  return z.array(id).min(1).max(MOST_TRACKED).optional().describe(description)
}

const input = z.strictObject({
  account: inOneAccount,
  ids: z.array(submissionId).min(1).max(MOST_TRACKED).optional().describe('ids of submissions'),
  file: idFile
    .optional()
    .meta({ description: 'more ids: one in each line, or a CSV with a column submission_id', contentMediaType: 'text/csv' }),
  again: z.boolean().default(false).describe('submissions that were purged too'),
  bind_request_ids: idsOf('bind_request', 'bind requests of the one submission that is given'),
  policy_ids: idsOf('policy', 'policies, of the submission when one is given'),
  insured_ids: idsOf('insured', 'insureds, of the submission when one is given'),
})

type Given = z.output<typeof input>

/** The distinct submissions that are given. */
function submissionsOf({ ids = [], file }: Given): string[] {
  return [...new Set([...ids, ...(file === undefined ? [] : readIdFile(file).ids)])]
}

/** What has an id of its own; it belongs to the submission when that is the only one. */
function knownIdsOf(given: Given): KnownId[] {
  const [only = '', ...others] = submissionsOf(given)
  const submissionId = others.length === 0 ? only : ''
  const of = (kind: KnownKind, ids: readonly string[] = []) => ids.map((id): KnownId => ({ kind, id, submissionId }))
  return [...of('bind_request', given.bind_request_ids), ...of('policy', given.policy_ids), ...of('insured', given.insured_ids)]
}

const track = operation({
  name: 'submission.track',
  command: 'track',
  summary: 'make submissions known: their feeds are read from the beginning and kept up to date',
  role: 'operator',
  needs: 'account',
  mayPrepare: true,
  http: 'POST /submissions/track',
  mostBytes: LIMIT_BYTES,
  input: input
    .refine(
      ({ account: _, again: __, ...given }) => Object.values(given).some((each) => each !== undefined),
      'give ids of submissions, or a file of them',
    )
    .refine(
      (given) => given.bind_request_ids === undefined || submissionsOf(given).length === 1,
      'bind requests go with the one submission that they belong to',
    ),
  argument: 'ids',
  output: record('SubmissionsTracked', {
    account: z.string(),
    added: z.int().describe('submissions that were not known before'),
    known: z.int().describe('submissions that were known before'),
    purged: z.int().describe('submissions that were purged before, and are therefore not tracked'),
    ids_added: z.int().describe('bind requests, policies and insureds that were not known before'),
    ids_known: z.int().describe('bind requests, policies and insureds that were known before'),
  }),
  run: async (c, given) => {
    const { name: account } = accountNamed(c.config, given.account, c.nameOf('account'))
    const [ids, named] = [submissionsOf(given), knownIdsOf(given)]
    const tracked = ids.length === 0 ? { added: 0, known: 0, purged: 0 } : await trackSubmissions(c, account, ids, given.again)
    const added = named.length === 0 ? 0 : await trackKnownIds(c, account, named)
    return { account, ...tracked, ids_added: added, ids_known: named.length - added }
  },
  print: (to, { account, added, known, purged, ids_added, ids_known }) => {
    const them = purged === 1 ? 'it' : 'them'
    const left = purged > 0 ? `; ${pluralize(purged, 'submission')} purged before: track with --again to mirror ${them} once more` : ''
    if (added + known + purged > 0)
      to.line(`${pluralize(added, 'new submission')} tracked in account ${account}; ${known} known before${left}`)
    if (ids_added + ids_known > 0) to.line(`${pluralize(ids_added, 'new id')} known in account ${account}; ${ids_known} known before`)
  },
})

/** Submissions per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

/**
 * Tracks submissions: their feeds are read from the beginning and kept up to date.
 * @param ids distinct ones.
 * @param again whether purged ones are tracked again too.
 */
export async function trackSubmissions(a: ActionContext, account: string, ids: readonly string[], again: boolean) {
  const note = { who: a.who, action: 'submission.track', target: account, detail: idsForAudit(ids) }
  const { added, purged } = await auditAction(a.db, note, async () => {
    let n = 0
    let purged = 0
    await inSteps(a, ids, STEP, async (step) => {
      const facts = step.map((submissionId): Fact => ({ kind: 'wake', account, submissionId, cause: 'command', reads: [] }))
      if (again) await forgetPurged(a.db, account, step)
      const applied = await inApplyTransaction(a.db, a.observer, 'track', (transaction) => transaction.apply(facts))
      // Only new submissions cause changes here, one each.
      n += applied.changes
      purged += applied.purged.size
    })
    return { added: n, purged, detail: { added: n } }
  })
  return { added, known: ids.length - added - purged, purged }
}

/**
 * Makes bind requests, policies and insureds known, which the service lists nowhere (trap 23): each is read at once, then on schedule.
 * @param ids a bind request with its submission.
 * @returns how many were not known before.
 */
async function trackKnownIds(a: ActionContext, account: string, ids: readonly KnownId[]): Promise<number> {
  const detail = idsForAudit(ids.map(({ kind, id }) => `${kind} ${id}`))
  const { added } = await auditAction(a.db, { who: a.who, action: 'submission.track', target: account, detail }, async () => {
    const before = await countKnownIds(a.db.read, account, ids)
    const facts = ids.map(
      (one): Fact => ({ kind: 'named', account, submissionId: one.submissionId, cause: 'command', ids: [one], via: 'command' }),
    )
    await inApplyTransaction(a.db, a.observer, 'track', (transaction) => transaction.apply(facts))
    const added = (await countKnownIds(a.db.read, account, ids)) - before
    return { added, detail: { added } }
  })
  return added
}

/** An entry that should be an id, and the line on which it, or its row, begins. */
interface Entry {
  readonly line: number
  readonly text: string
  readonly problem: string | null
}

/**
 * Reads submission ids: one per line, or a CSV (comma, semicolon or tab) whose first line names a column `submission_id`. Empty lines and
 * lines that begin with `#` are skipped.
 * @returns the distinct ids in the order of the file, and a line for each entry that is no id.
 */
export function readIdFile(text: string) {
  const ids = new Set<string>()
  const problems: string[] = []
  const records = recordsOf(text)
  const heading = records.next().value?.cells ?? []
  const column = heading.findIndex((cell) => cell.toLowerCase() === COLUMN)
  if (column < 0 && heading.length > 1) return { ids: [] as string[], problems: [`the first line must name a column ${COLUMN}`] }
  for (const { line, text: entry, problem } of column < 0 ? entriesOfLines(text) : entriesOfColumn(records, column)) {
    const id = problem === null ? parseUuid(entry) : null
    if (id !== null) ids.add(id)
    else problems.push(`line ${line}: ${problem ?? `${JSON.stringify(entry.slice(0, 80))} is no submission id (a uuid)`}`)
  }
  return { ids: [...ids], problems }
}

function* entriesOfLines(text: string): Generator<Entry> {
  for (const [index, line] of linesOf(text).entries()) {
    if (!isPassedOver(line)) yield { line: index + 1, text: line.trim(), problem: null }
  }
}

function* entriesOfColumn(records: ReturnType<typeof recordsOf>, column: number): Generator<Entry> {
  for (const { line, cells, problem } of records) yield { line, text: cells[column] ?? '', problem }
}

/** `track` */
export const operations = [track]
