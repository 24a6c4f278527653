import { z } from 'zod'
import type { Config, DestinationConfig } from '../../config/config.ts'
import type { Row } from '../../model/entity.ts'
import { maskedRow, maskedText, maskedValues } from '../../model/masking.ts'
import { personalDataFilter } from '../../model/personal.ts'
import type { Query } from '../../store/engine/db.ts'
import { findOutboxRows, type OutboxEntry } from '../../store/outbox/queries.ts'
import { contentOfOutboxRow } from '../../store/outbox/rows.ts'
import { record, time } from '../output/schema.ts'
import { fieldsText } from '../output/text.ts'
import { hiderOf } from '../status/settings.ts'
import { pageOf } from './inputs.ts'
import { operation } from './operation.ts'
import { byId, found, numbersOf, wholeMessageId } from './outbox-parts.ts'

const columns = z.record(z.string(), z.unknown()).nullable()
const exchanged = record('Exchange', {
  outbox_id: z.int(),
  destination: z.string(),
  attempts: z.int(),
  request: z.object({
    kind: z
      .enum(['webhook', 'queue', 'http', 'ams360', 'file'])
      .nullable()
      .describe('null if the destination is no longer in the settings'),
    method: z.string().nullable(),
    url: z.string().nullable().describe('null for files and for URLs from a template'),
    message_id: z.string(),
    entity: z.string(),
    operation: z.string(),
    seq: z.int(),
    changed_at: time.nullable(),
    before: columns,
    after: columns.describe('columns sent; of a snapshot row, all; null if the log no longer has the change'),
  }),
  answer: z
    .object({ at: time, status: z.int().nullable(), text: z.string().nullable() })
    .nullable()
    .describe('result of the last attempt; null before the first'),
})

const exchange = operation({
  name: 'outbox.exchange',
  summary: 'show what a destination receives for a change, and its last answer',
  description:
    'Secrets are omitted and personal values masked. Columns that the destination does not receive are left out. Viewing is recorded, because the ' +
    'answer may repeat any value.',
  role: 'operator',
  http: 'GET /outbox/:id/exchange',
  input: byId,
  argument: 'id',
  output: pageOf(exchanged),
  shows: numbersOf,
  run: async (c, { id }) => found(id, await readExchanges(c.db.read, c.config, await wholeMessageId(c.db.read, id))),
  print: (to, { items }) => to.line(items.map(({ request, answer, ...row }) => fieldsText({ ...row, ...request, answer })).join('\n\n')),
})

async function readExchanges(q: Query, config: Config, id: string) {
  const hide = hiderOf(config)
  const all: z.input<typeof exchanged>[] = []
  for (const row of await findOutboxRows(q, id)) {
    const destination = config.destinations.find(({ name }) => name === row.destination)
    const { at, text } = { at: row.tried_at, text: row.error ?? row.detail }
    const { content, personal } = await contentOf(q, row, destination)
    all.push({
      outbox_id: row.outbox_id,
      destination: row.destination,
      attempts: row.attempts,
      request: { ...addressOf(destination, hide), ...content },
      answer: at === null ? null : { at, status: row.status, text: text === null ? null : maskedText(hide(text), personal) },
    })
  }
  return all
}

function addressOf(destination: DestinationConfig | undefined, hide: (text: string) => string) {
  if (destination === undefined) return { kind: null, method: null, url: null }
  const { kind } = destination
  if (kind === 'http') return { kind, method: destination.request.method, url: null }
  if (kind === 'file') return { kind, method: null, url: null }
  return { kind, method: 'POST', url: hide(kind === 'queue' ? destination.queue.url : destination.url) }
}

/**
 * @returns `content`: what the destination receives, with masked personal values.
 * `personal`: the values to mask in the destination's answer.
 */
async function contentOf(q: Query, row: OutboxEntry, destination: DestinationConfig | undefined) {
  const { message_id, entity, operation, seq } = row
  const sent = await contentOfOutboxRow(q, row.outbox_id)
  const strip = personalDataFilter(destination?.personalFields ?? [], destination?.taxIdFields)
  const shown = (part: Row | null) => {
    const stripped = strip(entity, part)
    return stripped === null ? null : maskedRow(entity, stripped)
  }
  const [before, after] = [sent?.before ?? null, sent?.after ?? null]
  return {
    content: { message_id, entity, operation, seq, changed_at: sent?.changedAt || null, before: shown(before), after: shown(after) },
    personal: personalOf(entity, before, after),
  }
}

function personalOf(entity: string, before: Row | null, after: Row | null): string[] {
  return [before, after].flatMap((part) => (part === null ? [] : maskedValues(entity, part)))
}

/** @returns the personal values in the content of an outbox row. Mask these values in the destination's answer. */
export async function personalValuesOf(q: Query, row: Pick<OutboxEntry, 'outbox_id' | 'entity'>): Promise<string[]> {
  const sent = await contentOfOutboxRow(q, row.outbox_id)
  return personalOf(row.entity, sent?.before ?? null, sent?.after ?? null)
}

export const operations = [exchange]
