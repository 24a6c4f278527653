import { z } from 'zod'
import { documentKeyOf } from '../../model/documents.ts'
import type { Attachment, MarketEvent, Requirements, ThreadMessage } from '../../model/records.ts'
import { parseTime } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import { date, flag, items, list, rawOf, required, said, text, textOf, uuid } from './fields.ts'
import { readRail } from './rail.ts'
import { readReadiness } from './readiness.ts'

/**
 * Readers of the service's records. Each takes parsed JSON and returns the record in the mirror's columns, or null when a field is missing
 * that the spec requires to identify it. They never throw. Unknown fields and values are kept: `raw` holds the whole object (traps 13, 57,
 * 58).
 */

const market = z.looseObject({ name: text, lines: list, lane_id: uuid, category: text })

const marketEvent = z.looseObject({
  id: required(parseUuid),
  type: required(textOf),
  occurred_at: required(parseTime),
  market: market.nullable().catch(null),
  status: text,
  status_label: text,
  detail: text,
})

const threadMessage = z.looseObject({
  id: required(parseUuid),
  channel: required(textOf),
  direction: required(textOf),
  kind: required(textOf),
  occurred_at: required(parseTime),
  body_text: required(textOf),
  subject: text,
  from: text,
  to: list,
  in_reply_to: text,
  attachments: items,
})

const attachment = z.looseObject({ name: text, download_path: text })

const requirements = z.looseObject({
  submission_id: required(parseUuid),
  insured_name: text,
  lines: list,
  effective_date: date,
  state: text,
  marketing_status: text,
  marketing_hint: text,
  form_fill_active: flag,
})

/** Reads a market event; it needs `id` (uuid), `type` and `occurred_at`. */
export function readEvent(raw: unknown): MarketEvent | null {
  const event = marketEvent.safeParse(raw).data
  const kept = rawOf(raw)
  if (!event || kept === null) return null
  return {
    event_id: event.id,
    type: event.type,
    occurred_at: event.occurred_at,
    market_name: event.market?.name ?? null,
    market_lines: event.market?.lines ?? null,
    lane_id: event.market?.lane_id ?? null,
    category: event.market?.category ?? null,
    status: event.status,
    status_label: event.status_label,
    detail: event.detail,
    raw: kept,
  }
}

/** Reads a ThreadMessage; it needs `id` (uuid), `channel`, `direction`, `kind`, `occurred_at` and `body_text`. */
export function readMessage(raw: unknown): ThreadMessage | null {
  const message = threadMessage.safeParse(raw).data
  const kept = rawOf(raw)
  if (!message || kept === null) return null
  return {
    message: {
      message_id: message.id,
      channel: message.channel,
      direction: message.direction,
      kind: message.kind,
      occurred_at: message.occurred_at,
      subject: message.subject,
      body_text: message.body_text,
      from_address: message.from,
      to_addresses: message.to,
      in_reply_to: message.in_reply_to,
      raw: kept,
    },
    attachments: (message.attachments ?? []).map(readAttachment),
  }
}

/** An unreadable attachment keeps its position, so that the others keep theirs. */
function readAttachment(raw: unknown, position: number): Attachment {
  const read = attachment.safeParse(raw).data
  const link = read?.download_path ?? null
  return {
    position,
    name: read?.name ?? null,
    download_path: link,
    document_key: link ? documentKeyOf(link) : null,
    raw: rawOf(raw) ?? 'null',
  }
}

/**
 * Reads the requirements view. It needs `submission_id`; otherwise an answer of another shape would empty every column. The rail is null when
 * the answer has none (trap 64).
 */
export function readRequirements(raw: unknown): Requirements | null {
  const view = requirements.safeParse(raw).data
  const kept = rawOf(raw)
  if (!view || kept === null) return null
  const { insured_name, lines, effective_date, state, marketing_status, marketing_hint, form_fill_active } = view
  const columns = { insured_name, lines, effective_date, state, marketing_status, marketing_hint, form_fill_active }
  return { submission: { ...said(columns, raw), raw: kept }, rail: readRail(view['rail']), ...readReadiness(view) }
}
