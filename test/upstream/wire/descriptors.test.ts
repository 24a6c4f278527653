import { expect, test } from 'vitest'
import type { z } from 'zod'
import { bindRequestSchema } from '../../../src/client/schemas/binding.ts'
import { quoteSessionListSchema } from '../../../src/client/schemas/documents.ts'
import { eventsPageSchema } from '../../../src/client/schemas/events.ts'
import { outstandingSchema, requirementsViewSchema } from '../../../src/client/schemas/requirements.ts'
import { threadPageSchema } from '../../../src/client/schemas/thread.ts'
import { workspaceSchema } from '../../../src/client/schemas/workspace.ts'
import { entityNamed } from '../../../src/model/entities.ts'
import { type Shape, shapeOf } from '../../../src/upstream/api-changes/shape.ts'

/**
 * Table descriptors and schemas are independent: each schema field has a column or is listed here as in `raw` only; each column from the
 * service has a schema field.
 */

/** Tables of a read, and the places of their objects. */
interface Answer {
  readonly read: string
  readonly schema: z.ZodType
  readonly tables: Readonly<Record<string, string>>
  /** Fields without a column, by path. */
  readonly inRawAlone: readonly string[]
  /** Unspecified fields that the mirror needs. */
  readonly unshown?: readonly string[]
}

const answers: readonly Answer[] = [
  { read: 'events', schema: eventsPageSchema, tables: { market_events: 'events[]' }, inRawAlone: ['next_cursor'] },
  {
    read: 'thread',
    schema: threadPageSchema,
    tables: { thread_messages: 'messages[]', thread_attachments: 'messages[].attachments[]' },
    inRawAlone: ['next_cursor'],
  },
  {
    read: 'requirements',
    schema: requirementsViewSchema,
    tables: {
      submissions: '',
      lanes: 'rail.lanes[]',
      quotes: 'rail.lanes[].quotes[]',
      source_offers: 'rail.lanes[].source_offers[]',
      quote_history: 'rail.quote_history[]',
      market_readiness: 'markets[]',
      carrier_api_sessions: 'carrier_api_sessions[]',
      documents_on_file: 'documents_on_file[]',
      program_assessments: 'assessment.programs[]',
      requirement_items: 'assessment.programs[].unmet[]',
    },
    inRawAlone: [
      'submission_id',
      'rail.quote_history_unavailable',
      ...['submission_id', 'submitted_or_ready', 'gapped'].map((name) => `assessment.${name}`),
      // The same requirements; the column `result` distinguishes them.
      'assessment.programs[].met',
      'assessment.programs[].deferred',
    ],
  },
  {
    read: 'outstanding',
    schema: outstandingSchema,
    tables: { submissions: '', outstanding_items: 'items[]' },
    inRawAlone: ['submission_id'],
  },
  { read: 'sessions', schema: quoteSessionListSchema, tables: { carrier_api_sessions: '[]' }, inRawAlone: [], unshown: ['[].session_id'] },
  {
    read: 'workspace',
    schema: workspaceSchema,
    tables: { application_workspaces: '', applications: 'applications[]', facts: 'facts.facts[]' },
    inRawAlone: [
      ...['contract_version', 'workspace_id', 'owner_host', 'owner_resource_id', 'replica_applied_revision'].map((name) => `facts.${name}`),
      'applications[].submission_id',
      'applications[].schema',
      // Keys are data, each with a row of `application_answers`.
      'applications[].answers',
      'applications[].ownership',
    ],
  },
  {
    read: 'bind_request',
    schema: bindRequestSchema,
    tables: { bind_requests: '', bind_assumptions: 'unconfirmed_assumptions[]', bind_contingencies: 'contingencies[]' },
    inRawAlone: ['submission_id'],
  },
]

/** Every path to a value or list in a schema. @param tables places whose fields belong to a table. */
function leavesOf(shape: Shape, tables: ReadonlySet<string>): string[] {
  const below = [...shape.fields.values()].flatMap((field) => leavesOf(field, tables))
  const isTable = tables.has(shape.path) || tables.has(`${shape.path}[]`)
  const items = shape.items !== null && tables.has(shape.items.path) ? leavesOf(shape.items, tables) : []
  return below.length > 0 ? below : isTable ? items : [shape.path]
}

/** Paths below an answer that a table's columns are read from. */
function pathsOf(table: string, place: string, read: string): string[] {
  const entity = entityNamed(table)
  const fields = Object.entries(entity?.fields ?? {})
  const ofRead = fields.filter(([column, field]) => (field.read ?? entity?.read) === read || entity?.key.includes(column))
  return ofRead.flatMap(([, { path }]) => (path === undefined ? [] : [place === '' ? path : `${place}.${path}`]))
}

test.each(answers)('invariant 10: every field of $read has a column or is in raw only, and every column a field', (answer) => {
  const { read, schema, tables, inRawAlone, unshown = [] } = answer
  const leaves = leavesOf(shapeOf(schema), new Set(Object.values(tables)))
  const columns = Object.entries(tables).flatMap(([table, place]) => pathsOf(table, place, read))
  expect(leaves.filter((path) => !columns.includes(path)).sort(), 'fields without a column').toEqual([...new Set(inRawAlone)].sort())
  expect(columns.filter((path) => !leaves.includes(path)).sort(), 'columns without a field').toEqual(unshown)
})

test("invariant 10: every field of an answer's owner has a column or is in raw only", () => {
  const ownership = shapeOf(workspaceSchema).fields.get('applications')?.items?.fields.get('ownership')?.each
  const leaves = (ownership ? leavesOf(ownership, new Set()) : []).map((path) => path.replace('applications[].ownership{}', 'ownership'))
  const columns = pathsOf('application_answers', '', 'workspace').filter((path) => path.startsWith('ownership.'))
  expect(
    columns.filter((path) => !leaves.includes(path)),
    'columns without a field',
  ).toEqual([])
  const inRawAlone = ['dependencies', 'source.content_hash', 'source.extractor_version', 'source.snippet'].map(
    (name) => `ownership.${name}`,
  )
  expect(leaves.filter((path) => !columns.includes(path)).sort(), 'fields without a column').toEqual(inRawAlone)
})

test.each(answers)(
  'a field of $read that the specification lets be null is null where an answer leaves it out',
  ({ read, schema, tables }) => {
    const nullable = nullablePaths(shapeOf(schema))
    for (const [table, place] of Object.entries(tables)) {
      const entity = entityNamed(table)
      const own = Object.values(entity?.fields ?? {}).flatMap(({ path, nullable }) => (nullable && path !== undefined ? [path] : []))
      const columns = pathsOf(table, place, read).filter((path) => nullable.has(path))
      if (!entity?.absentIsNull)
        expect(
          columns.filter((path) => !own.some((name) => path === name || path.endsWith(`].${name}`))),
          table,
        ).toEqual([])
    }
  },
)

function nullablePaths(shape: Shape): Set<string> {
  const below = [...shape.fields.values(), ...(shape.items === null ? [] : [shape.items])].flatMap((part) => [...nullablePaths(part)])
  return new Set([...(shape.types?.has('null') ? [shape.path] : []), ...below])
}
