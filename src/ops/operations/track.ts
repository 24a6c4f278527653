import { z } from 'zod'
import { inApplyTransaction } from '../../apply/apply.ts'
import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import type { Observation } from '../../model/observations.ts'
import { parseUuid } from '../../model/uuid.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { countKnownIds } from '../../store/reads/known-ids.ts'
import { forgetPurged } from '../../store/reads/purged.ts'
import { type ActionContext, idsForAudit, inSteps } from '../actions/context.ts'
import { accountNamed } from '../actions/names.ts'
import { isSkippedLine, linesOf, recordsOf } from '../output/csv.ts'
import { record } from '../output/schema.ts'
import { firstProblems, pluralize } from '../output/text.ts'
import { inOneAccount, submissionId } from './inputs.ts'
import { operation } from './operation.ts'

const MOST_TRACKED = 10_000
/** Maximum bytes of a request body. This is enough for `MOST_TRACKED` ids. */
const LIMIT_BYTES = 1024 * 1024
const COLUMN = 'submission_id'

const idFile = z.string().superRefine((text, issues) => {
  const { ids, problems } = readIdFile(text)
  const shown = problems.length === 0 && ids.length === 0 ? ['it contains no ids'] : firstProblems(problems)
  if (shown.length > 0) issues.addIssue({ code: 'custom', message: shown.join('\n') })
})

function idsOf(kind: KnownKind, description: string) {
  const id = z
    .string()
    .max(100)
    .refine((text) => parseUuid(text) !== null, `is not a valid ${kind.replace('_', ' ')} id (a uuid)`)
    .overwrite((text) => parseUuid(text) ?? text)
  return z.array(id).min(1).max(MOST_TRACKED).optional().describe(description)
}

const input = z.strictObject({
  account: inOneAccount,
  ids: z.array(submissionId).min(1).max(MOST_TRACKED).optional().describe('submission ids'),
  file: idFile
    .optional()
    .meta({ description: 'file with more ids: one per line, or a CSV with a column submission_id', contentMediaType: 'text/csv' }),
  again: z.boolean().default(false).describe('also track purged submissions'),
  bind_request_ids: idsOf('bind_request', 'id of a bind request of the given submission'),
  policy_ids: idsOf('policy', 'id of a policy, of the submission if one is given'),
  insured_ids: idsOf('insured', 'id of an insured, of the submission if one is given'),
})

type Given = z.output<typeof input>

function submissionsOf({ ids = [], file }: Given): string[] {
  return [...new Set([...ids, ...(file === undefined ? [] : readIdFile(file).ids)])]
}

/**
 * @returns the given ids of bind requests, policies and insureds.
 * If exactly one submission is given, assigns the ids to this submission.
 */
function knownIdsOf(given: Given): KnownId[] {
  const [only = '', ...others] = submissionsOf(given)
  const submissionId = others.length === 0 ? only : ''
  const of = (kind: KnownKind, ids: readonly string[] = []) => ids.map((id): KnownId => ({ kind, id, submissionId }))
  return [...of('bind_request', given.bind_request_ids), ...of('policy', given.policy_ids), ...of('insured', given.insured_ids)]
}

const track = operation({
  name: 'submission.track',
  command: 'track',
  summary: 'track submissions: read them from the beginning and keep them up to date',
  role: 'operator',
  needs: 'account',
  mayPrepare: true,
  http: 'POST /submissions/track',
  maxBytes: LIMIT_BYTES,
  input: input
    .refine(
      ({ account: _, again: __, ...given }) => Object.values(given).some((each) => each !== undefined),
      'give submission ids, or a file that lists them',
    )
    .refine(
      (given) => given.bind_request_ids === undefined || submissionsOf(given).length === 1,
      'give bind requests together with their submission',
    ),
  argument: 'ids',
  output: record('SubmissionsTracked', {
    account: z.string(),
    added: z.int().describe('newly tracked submissions'),
    known: z.int().describe('submissions that were already tracked'),
    purged: z.int().describe('submissions not tracked because they were purged'),
    ids_added: z.int().describe('newly tracked bind requests, policies and insureds'),
    ids_known: z.int().describe('bind requests, policies and insureds that were already tracked'),
  }),
  run: async (c, given) => {
    const { name: account } = accountNamed(c.config, given.account, c.nameOf('account'))
    const [ids, named] = [submissionsOf(given), knownIdsOf(given)]
    const tracked = ids.length === 0 ? { added: 0, known: 0, purged: 0 } : await trackSubmissions(c, account, ids, given.again)
    const added = named.length === 0 ? 0 : await trackKnownIds(c, account, named)
    return { account, ...tracked, ids_added: added, ids_known: named.length - added }
  },
  print: (to, { account, added, known, purged, ids_added, ids_known }) => {
    const hint = purged > 0 ? `; ${pluralize(purged, 'purged submission')} skipped; to mirror purged submissions again, use --again` : ''
    if (added + known + purged > 0)
      to.line(`${pluralize(added, 'new submission')} tracked in account ${account}; ${known} already tracked${hint}`)
    if (ids_added + ids_known > 0) to.line(`${pluralize(ids_added, 'new id')} tracked in account ${account}; ${ids_known} already tracked`)
  },
})

/** Submissions per transaction. Larger transactions would delay a running `serve`. */
const STEP = 200

/**
 * Tracks submissions.
 * @param ids without duplicates.
 * @param again true to also track purged submissions.
 * @returns how many submissions are new, already tracked, or skipped because they were purged.
 */
export async function trackSubmissions(a: ActionContext, account: string, ids: readonly string[], again: boolean) {
  const note = { who: a.who, action: 'submission.track', target: account, detail: idsForAudit(ids) }
  const { added, purged } = await auditAction(a.db, note, async () => {
    let n = 0
    let purged = 0
    await inSteps(a, ids, STEP, async (step) => {
      const observations = step.map(
        (submissionId): Observation => ({ kind: 'request', account, submissionId, cause: 'command', reads: [] }),
      )
      if (again) await forgetPurged(a.db, account, step)
      const applied = await inApplyTransaction(a.db, a.observer, 'track', (transaction) => transaction.apply(observations))
      // Each new submission causes exactly one change.
      n += applied.changes
      purged += applied.purged.size
    })
    return { added: n, purged, detail: { added: n } }
  })
  return { added, known: ids.length - added - purged, purged }
}

/**
 * Tracks bind requests, policies and insureds by id, because the service has no lists of these (trap 23).
 * @returns the number of new ids.
 */
async function trackKnownIds(a: ActionContext, account: string, ids: readonly KnownId[]): Promise<number> {
  const detail = idsForAudit(ids.map(({ kind, id }) => `${kind} ${id}`))
  const { added } = await auditAction(a.db, { who: a.who, action: 'submission.track', target: account, detail }, async () => {
    const before = await countKnownIds(a.db.read, account, ids)
    const observations = ids.map(
      (one): Observation => ({ kind: 'named', account, submissionId: one.submissionId, cause: 'command', ids: [one], via: 'command' }),
    )
    await inApplyTransaction(a.db, a.observer, 'track', (transaction) => transaction.apply(observations))
    const added = (await countKnownIds(a.db.read, account, ids)) - before
    return { added, detail: { added } }
  })
  return added
}

/** A text that should be an id. `line` is its line number in the file; for a CSV row, the row's first line number. */
interface Entry {
  readonly line: number
  readonly text: string
  readonly problem: string | null
}

/**
 * Reads submission ids: one per line, or a CSV with a column `submission_id`. The separator is a comma, semicolon or
 * tab. Skips empty lines and lines that start with `#`.
 * @returns the ids in the order of the file without duplicates, and one problem text per invalid entry.
 */
export function readIdFile(text: string) {
  const ids = new Set<string>()
  const problems: string[] = []
  const records = recordsOf(text)
  const heading = records.next().value?.cells ?? []
  const column = heading.findIndex((cell) => cell.toLowerCase() === COLUMN)
  if (column < 0 && heading.length > 1) return { ids: [] as string[], problems: [`the first line must contain a column ${COLUMN}`] }
  for (const { line, text: entry, problem } of column < 0 ? entriesOfLines(text) : entriesOfColumn(records, column)) {
    const id = problem === null ? parseUuid(entry) : null
    if (id !== null) ids.add(id)
    else problems.push(`line ${line}: ${problem ?? `${JSON.stringify(entry.slice(0, 80))} is not a submission id (a uuid)`}`)
  }
  return { ids: [...ids], problems }
}

function* entriesOfLines(text: string): Generator<Entry> {
  for (const [index, line] of linesOf(text).entries()) {
    if (!isSkippedLine(line)) yield { line: index + 1, text: line.trim(), problem: null }
  }
}

function* entriesOfColumn(records: ReturnType<typeof recordsOf>, column: number): Generator<Entry> {
  for (const { line, cells, problem } of records) yield { line, text: cells[column] ?? '', problem }
}

export const operations = [track]
