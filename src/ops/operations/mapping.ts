import { z } from 'zod'
import { UsageError } from '../../base/errors.ts'
import type { Config } from '../../config/config.ts'
import { listUnmapped } from '../../store/mirror/submission-search.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
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

const destination = name.describe('destination name')
const listed = { name: destination, account: ofAccount }

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
  mapped_via: z.string().describe('`import` (a file), `command`, `admin`, `lookup`, or `sql` (manual insert)'),
})

export const mappings = operation({
  name: 'destination.mappings',
  summary: 'list submissions with their AMS clients',
  role: 'operator',
  http: 'GET /destinations/:name/mappings',
  input: z.strictObject({ ...listed, submission_id: ofSubmission, ...paging }),
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
    'No mapped submissions.',
  ],
})

const waiting = record('UnmappedSubmission', {
  account: z.string(),
  submission_id: z.string(),
  insured_name: z.string().nullable().describe('null if not mirrored yet'),
  changes: z.int().describe('changes waiting for the client'),
  since: time.nullable().describe('when the oldest was queued'),
})

export const unmapped = operation({
  name: 'destination.unmapped',
  summary: 'list submissions that need an AMS client',
  role: 'viewer',
  http: 'GET /destinations/:name/unmapped',
  input: z.strictObject({
    ...listed,
    search: name.optional().describe('words of the insured name, or the start of an id'),
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
    'No changes wait for a client.',
  ],
})

const text = z.string().max(500)
const about = {
  policy: text.optional().describe('policy in the AMS'),
  account: text.optional().describe('account of the submission; required if the destination has several'),
  fields: z.record(text, text).optional().describe('additional values for templates'),
}
const row = z.strictObject({ submission_id: text, client: text, ...about }).meta({ id: 'MappingRow' })

export const map = operation({
  name: 'destination.map',
  summary: 'map submissions to AMS clients and send their waiting changes',
  description:
    'The first line of a CSV names the columns: `submission_id` and `client`, and optionally `account`, `policy` and others. If a row is ' +
    'invalid, nothing is stored.',
  role: 'operator',
  http: 'POST /destinations/:name/mappings',
  input: z
    .strictObject({
      name: destination,
      rows: z.array(row).min(1).max(MOST_ROWS).optional().describe('several submissions'),
      file: z.string().optional().meta({ description: 'a CSV of submissions', contentMediaType: 'text/csv' }),
      submission_id: submissionId.optional().describe('one submission'),
      client: text.optional().describe('client in the AMS'),
      ...about,
    })
    .refine(
      ({ file, rows, submission_id: id, client }) => (file ?? rows ?? (id && client)) !== undefined,
      'give a file, or a submission and its client; `destination mappings` lists the stored mappings',
    )
    .refine(
      ({ name: _, ...given }) =>
        (given.file ?? given.rows) === undefined || Object.values(given).filter((value) => value !== undefined).length === 1,
      'give only a file or rows, without other fields',
    ),
  argument: 'name',
  output: record('MappingsStored', {
    stored: z.int(),
    unknown_submissions: z.int().describe('stored mappings of submissions that are not mirrored yet'),
  }),
  run: async (c, { name: of, rows, file, submission_id: id = '', client = '', ...single }) => {
    const target = mapTarget(c.config, of)
    const read =
      file === undefined
        ? readRows(rows ?? [{ ...single, submission_id: id, client }], target)
        : readMapFile(file, c.nameOf('file'), target)
    return await importMappings(c, target, read, c.who !== 'command' ? 'admin' : file === undefined ? 'command' : 'import')
  },
  print: (to, { stored, unknown_submissions: unknown }) => {
    to.line(`${pluralize(stored, 'submission')} mapped. ${stored === 1 ? 'Its' : 'Their'} changes no longer wait for a client.`)
    if (unknown > 0) to.line(`${pluralize(unknown, 'mapped submission')} ${unknown === 1 ? 'is' : 'are'} not mirrored yet.`)
  },
})

/** Mappings per transaction. Larger transactions would delay a running `serve`. */
const STEP = 200

function mapTarget(config: Pick<Config, 'destinations'>, name: string): MapTarget {
  const { accounts, mapping } = destinationNamed(config, name)
  if (mapping === 'none') {
    throw new MismatchError([`destination ${name} uses no mapping, so nothing was stored. Set its \`mapping\` to required first`])
  }
  if (accounts.length === 0)
    throw new MismatchError([`destination ${name} has no account in the settings. Use the same settings as \`serve\``])
  return { destination: name, accounts }
}

/** Stores mappings and releases the changes that wait for them. If a row is invalid, stores nothing. */
async function importMappings(
  a: ActionContext,
  { destination }: MapTarget,
  { rows, problems }: MapFile,
  via: 'import' | 'command' | 'admin',
) {
  if (problems.length > 0) throw new UsageError([...firstProblems(problems), 'nothing was stored'])
  // Audit only the number of rows, because the table contains the mappings.
  const note = { who: a.who, action: 'mapping.import', target: destination, detail: { rows: rows.length } }
  const { unknown } = await auditAction(a.db, note, async () => {
    let unknown = 0
    await inSteps(a, rows, STEP, async (step) => {
      await storeMappings(a.db, step, via)
      const keys = step.map(({ account, submissionId }) => ({ account, submission_id: submissionId }))
      unknown += step.length - (await knownSubmissions(a.db.read, keys)).size
    })
    return { unknown, detail: { unknown_submissions: unknown } }
  })
  return { stored: rows.length, unknown_submissions: unknown }
}
