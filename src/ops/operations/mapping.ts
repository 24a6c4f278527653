import { z } from 'zod'
import { UsageError } from '../../base/errors.ts'
import type { Config } from '../../config/config.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { listUnmapped } from '../../store/mirror/unmapped.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { listMappings, storeMappings } from '../../store/outbox/push-map.ts'
import { type ActionContext, inSteps } from '../actions/context.ts'
import { type MapFile, type MapTarget, readMapFile, readRows } from '../actions/map-file.ts'
import { destinationNamed, refuseUnknownNames } from '../actions/names.ts'
import { MismatchError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { firstProblems, pluralize } from '../output/text.ts'
import { name, ofAccount, ofSubmission, page, pageOf, paging, placeIn, submissionId } from './inputs.ts'
import { operation } from './operation.ts'

const MOST_ROWS = 20_000

const destination = name.describe('of the destination')
const listed = {
  name: destination,
  account: ofAccount,
}

/** The place of a submission in a list by account and id. */
function placeOf(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [account, id] = placeIn(cursor, ['string', 'string'])
  return { account: String(account), submissionId: String(id) }
}

const mapping = record('Mapping', {
  destination: z.string(),
  account: z.string(),
  submission_id: z.string(),
  client: z.string(),
  policy: z.string().nullable(),
  fields: z.record(z.string(), z.unknown()),
  mapped_at: time,
  mapped_via: z.string().describe('`import`, `admin`, `lookup`, or `sql` (written into the table by hand)'),
})

/** Which client submissions belong to. */
export const mappings = operation({
  name: 'destination.mappings',
  summary: 'list which client of the AMS submissions belong to, by account and submission',
  role: 'operator',
  http: 'GET /destinations/:name/mappings',
  input: z.strictObject({
    ...listed,
    submission_id: ofSubmission,
    ...paging,
  }),
  argument: 'name',
  output: pageOf(mapping),
  run: async (c, { name: of, account, submission_id: submission, limit, cursor }) => {
    const filter = { destination: of, account, submissionId: submission, after: placeOf(cursor) }
    await refuseUnknownNames(c.db.read, c.config, filter)
    return page(await listMappings(c.db.read, filter, limit + 1), limit, (last) => [last.account, last.submission_id])
  },
  table: [
    'Submissions and their clients',
    ['destination', 'account', 'submission_id', 'client', 'policy', 'fields', 'mapped_at', 'mapped_via'],
    'No submission is mapped.',
  ],
})

const waiting = record('UnmappedSubmission', {
  account: z.string(),
  submission_id: z.string(),
  insured_name: z.string().nullable().describe('null: the mirror does not know it yet'),
  changes: z.int().describe('that wait for a client'),
  since: time.nullable().describe('when the oldest of them was queued'),
})

/** Which submissions wait for a client. */
export const unmapped = operation({
  name: 'destination.unmapped',
  summary: 'list the submissions whose changes wait for a client of the AMS, by account and id',
  role: 'viewer',
  http: 'GET /destinations/:name/unmapped',
  input: z.strictObject({
    ...listed,
    search: name.optional().describe('as in the list of submissions: words of the name of the insured, the beginning of an id'),
    ...paging,
  }),
  argument: 'name',
  output: pageOf(waiting),
  run: async (c, { name: of, limit, cursor, ...narrowing }) => {
    const filter = { destination: of, ...narrowing, after: placeOf(cursor) }
    await refuseUnknownNames(c.db.read, c.config, filter)
    return page(await listUnmapped(c.db.read, filter, limit + 1), limit, (last) => [last.account, last.submission_id])
  },
  table: [
    'Submissions without a client',
    ['account', 'submission_id', 'insured_name', 'changes', 'since'],
    'No submission waits for a client.',
  ],
})

const text = z.string().max(500)
const about = {
  policy: text.optional().describe('its policy in the AMS'),
  account: text.optional().describe('its account, needed where the destination has several'),
  fields: z.record(text, text).optional().describe('more for templates and adapters'),
}
const row = z.strictObject({ submission_id: text, client: text, ...about }).meta({ id: 'MappingRow' })

/** Which client submissions are to belong to. */
export const map = operation({
  name: 'destination.map',
  summary: 'say which client of the AMS submissions belong to; what waited for that goes out',
  description:
    'The first line of a CSV names the columns: `submission_id` and `client`, and maybe `account`, `policy` and others. One wrong row, and ' +
    'nothing is stored.',
  role: 'operator',
  http: 'POST /destinations/:name/mappings',
  input: z
    .strictObject({
      name: destination,
      rows: z.array(row).min(1).max(MOST_ROWS).optional().describe('any number of submissions'),
      file: z.string().optional().meta({ description: 'a CSV of them', contentMediaType: 'text/csv' }),
      submission_id: submissionId.optional().describe('a single submission'),
      client: text.optional().describe('its client in the AMS'),
      ...about,
    })
    .refine(
      ({ file, rows, submission_id: id, client }) => (file ?? rows ?? (id && client)) !== undefined,
      'give a file, or a submission and its client; `destination mappings` lists what was said',
    )
    .refine(
      ({ name: _, ...given }) =>
        (given.file ?? given.rows) === undefined || Object.values(given).filter((value) => value !== undefined).length === 1,
      'a file stands alone, and so do rows; leave the others out',
    ),
  argument: 'name',
  output: record('MappingsStored', {
    stored: z.int(),
    unknown_submissions: z.int().describe('of these the mirror does not know the submission yet'),
  }),
  run: async (c, { name: of, rows, file, submission_id: id = '', client = '', ...single }) => {
    const target = mapTarget(c.config, of)
    const read =
      file === undefined
        ? readRows(rows ?? [{ ...single, submission_id: id, client }], target)
        : readMapFile(file, c.nameOf('file'), target)
    return await importMappings(c, target, read)
  },
  print: (to, { stored, unknown_submissions: unknown }) => {
    to.line(`${pluralize(stored, 'submission')} mapped; what waited for that goes out now`)
    if (unknown > 0) to.line(`${unknown} of these submissions not known to the mirror yet`)
  },
})

/** Mappings per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

/** The destination of an import, and its accounts. @throws NotFoundError, or MismatchError when it takes no mappings. */
function mapTarget(config: Pick<Config, 'destinations'>, name: string): MapTarget {
  const { accounts, mapping } = destinationNamed(config, name)
  if (mapping === 'none') {
    throw new MismatchError([`destination ${name} uses no mapping, so nothing was stored; set its \`mapping\` to required first`])
  }
  if (accounts.length === 0)
    throw new MismatchError([`destination ${name} has no account in the settings; run this with the same settings as \`serve\``])
  return { destination: name, accounts }
}

/**
 * Stores mappings of one destination, all or none; changes that waited for them go out.
 * @returns how many, and of how many the mirror does not know the submission yet.
 * @throws UsageError with what is wrong with them.
 */
async function importMappings(a: ActionContext, { destination }: MapTarget, { rows, problems }: MapFile) {
  if (problems.length > 0) throw new UsageError([...firstProblems(problems), 'nothing was stored'])
  // The audit entry need not repeat the mappings: they are in the table.
  const note = { who: a.who, action: 'mapping.import', target: destination, detail: { rows: rows.length } }
  const { unknown } = await auditAction(a.db, note, async () => {
    let unknown = 0
    await inSteps(a, rows, STEP, async (step) => {
      await storeMappings(a.db, step, a.who === 'command' ? 'import' : 'admin')
      const keys = step.map(({ account, submissionId }) => ({ account, submission_id: submissionId }))
      unknown += step.length - (await knownSubmissions(a.db.read, keys)).size
    })
    return { unknown, detail: { unknown_submissions: unknown } }
  })
  return { stored: rows.length, unknown_submissions: unknown }
}
