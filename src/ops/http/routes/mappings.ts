import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { UsageError } from '../../../base/errors.ts'
import { SAVE_AS_UTF8, utf8Text } from '../../../base/utf8.ts'
import { listUnmapped } from '../../../store/mirror/unmapped.ts'
import { listMappings, type MappingRow } from '../../../store/outbox/push-map.ts'
import { addMapping, fieldProblem, type MapTarget, readMapFile, rowOf } from '../../actions/map-file.ts'
import { importMappings, mapTarget, shownMapping } from '../../actions/mappings.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { name, submissionId, time } from '../../operations/inputs.ts'
import { answersAbout, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { limit, named, page, pageOf } from '../api/schemas.ts'

const MOST_ROWS = 20_000
const BODY_LIMIT_BYTES = 8 * 1024 * 1024

const mapping = z
  .object({
    destination: z.string(),
    account: z.string(),
    submission_id: z.string(),
    client: z.string(),
    policy: z.string().nullable(),
    fields: z.record(z.string(), z.unknown()),
    mapped_at: time,
    mapped_via: z.string().meta({ description: '`import`, `admin`, `lookup`, or `sql` (written into the table by hand)' }),
  })
  .meta({ id: 'Mapping' })

const row = z
  .strictObject({
    submission_id: z.string().max(500),
    client: z.string().max(500),
    policy: z.string().max(500).optional(),
    account: z.string().max(500).optional().meta({ description: 'needed where the destination has several' }),
    fields: z.record(z.string().max(500), z.string().max(500)).optional().meta({ description: 'more for templates and adapters' }),
  })
  .meta({ id: 'MappingRow' })

const rowsBody = z.strictObject({ rows: z.array(row).min(1).max(MOST_ROWS) })

const cursor = z
  .string()
  .regex(/^[^/]{1,200}\/[^/]{1,200}$/, 'is no cursor of this list')
  .transform((text) => ({ account: text.slice(0, text.indexOf('/')), submissionId: text.slice(text.indexOf('/') + 1) }))
  .optional()

const list = {
  summary: 'which client of the AMS submissions belong to, as was said',
  tags: ['destinations'],
  params: named,
  querystring: z.strictObject({ account: name.optional(), submission_id: submissionId.optional(), limit, after: cursor }),
  response: answersAbout('a page of mappings, by account and submission', pageOf(mapping)),
}

const unmapped = z
  .object({
    account: z.string(),
    submission_id: z.string(),
    insured_name: z.string().nullable().meta({ description: 'null: the mirror does not know it yet' }),
    changes: z.int().meta({ description: 'that wait for a client' }),
    since: time.nullable().meta({ description: 'when the oldest of them was queued' }),
  })
  .meta({ id: 'UnmappedSubmission' })

const waiting = {
  summary: 'the submissions whose changes wait for a client of the AMS, by account and id',
  tags: ['destinations'],
  params: named,
  querystring: z.strictObject({
    account: name.optional(),
    search: name
      .optional()
      .meta({ description: 'as in the list of submissions: words of the name of the insured, the beginning of an id' }),
    limit,
    after: cursor,
  }),
  response: answersAbout('a page of submissions', pageOf(unmapped)),
}

const stored = z
  .object({
    stored: z.int(),
    unknown_submissions: z.int().meta({ description: 'of these the mirror does not know the submission yet' }),
  })
  .meta({ id: 'MappingsStored' })

const storeRows = {
  summary: 'say which client of the AMS submissions belong to; what waited for that goes out',
  description: 'One wrong row, and nothing is stored.',
  tags: ['destinations'],
  params: named,
  body: rowsBody,
  response: answersOfAction('how many were stored', stored),
}

const storeCsv = {
  ...storeRows,
  summary: 'the same, from a CSV',
  description:
    'The first line names the columns: `submission_id` and `client`, and maybe `account`, `policy` and others. One wrong line, and ' +
    'nothing is stored.',
  consumes: ['text/csv'],
  body: z.string(),
}

/** `/destinations/{name}/mappings` */
export function addMappings(api: Api, p: AdminParts): void {
  api.get('/destinations/:name/mappings', { schema: list }, async ({ params, query }) => {
    const { account, submission_id, limit: max, after } = query
    const filter = { destination: params.name, account, submissionId: submission_id, after }
    await refuseUnknownNames(p.db.read, p.config(), filter)
    const rows = (await listMappings(p.db.read, filter, max + 1)).map((each) => ({ ...shownMapping(each), fields: { ...each.fields } }))
    return page(rows, max, (last) => `${last.account}/${last.submission_id}`)
  })
  api.get('/destinations/:name/unmapped', { schema: waiting }, async ({ params, query }) => {
    const { limit: max, ...narrowing } = query
    const filter = { destination: params.name, ...narrowing }
    await refuseUnknownNames(p.db.read, p.config(), filter)
    return page(await listUnmapped(p.db.read, filter, max + 1), max, (last) => `${last.account}/${last.submission_id}`)
  })
  const store = async (request: FastifyRequest, target: MapTarget, rows: readonly MappingRow[]) => {
    const { unknown } = await importMappings(actionContextFor(p, request), target.destination, rows, 'admin')
    return { stored: rows.length, unknown_submissions: unknown }
  }
  api.post('/destinations/:name/mappings', { schema: storeRows, bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
    const target = mapTarget(p.config(), request.params.name)
    return await store(request, target, fromRows(request.body, target))
  })
  // A scope of its own: only here a CSV is read, and nothing else.
  void api.register((scope: Api, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('text/csv', { parseAs: 'buffer' }, async (_request: FastifyRequest, bytes: Buffer) => textOf(bytes))
    scope.post('/destinations/:name/mappings.csv', { schema: storeCsv, bodyLimit: BODY_LIMIT_BYTES }, async (request) => {
      const target = mapTarget(p.config(), request.params.name)
      return await store(request, target, fromCsv(request.body, target))
    })
    done()
  })
}

function textOf(bytes: Buffer): string {
  const text = utf8Text(bytes)
  if (text === null) throw new UsageError([`the CSV ${SAVE_AS_UTF8}`, 'nothing was stored'])
  return text
}

function fromCsv(text: string, target: MapTarget): readonly MappingRow[] {
  const { rows, problems } = readMapFile(text, 'the CSV', target)
  if (problems.length > 0) throw new UsageError([...problems, 'nothing was stored'])
  return rows
}

function fromRows({ rows }: z.output<typeof rowsBody>, target: MapTarget): readonly MappingRow[] {
  const problems: string[] = []
  const read = new Map<string, MappingRow>()
  for (const [index, { fields = {}, ...own }] of rows.entries()) {
    const texts = Object.entries({ ...fields, ...own }).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const mapped = rowOf(new Map(texts), target)
    const taken = Object.keys(fields)
      .map(fieldProblem)
      .find((each) => each !== null)
    const problem = taken ?? ('problem' in mapped ? mapped.problem : addMapping(read, mapped))
    if (problem !== null) problems.push(`row ${index + 1}: ${problem}`)
  }
  if (problems.length > 0) throw new UsageError([...problems, 'nothing was stored'])
  return [...read.values()]
}
