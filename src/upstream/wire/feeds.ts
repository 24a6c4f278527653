import { documentKeyOf } from '../../model/documents.ts'
import { marketEvents } from '../../model/entities/market-events.ts'
import { threadAttachments } from '../../model/entities/thread-attachments.ts'
import { threadMessages } from '../../model/entities/thread-messages.ts'
import { isObject } from '../../model/json.ts'
import type { Attachment, MarketEvent, ThreadMessage } from '../../model/records.ts'
import { rawOf } from './fields.ts'
import { itemsIn } from './lists.ts'
import { rowOf } from './row.ts'

/**
 * Reads a market event.
 * @returns null if a required field is missing.
 */
export function readEvent(raw: unknown): MarketEvent | null {
  return rowOf(marketEvents, raw) as MarketEvent | null
}

/**
 * Reads a thread message with its attachments.
 * @returns null if a required field is missing.
 */
export function readMessage(raw: unknown): ThreadMessage | null {
  const message = rowOf(threadMessages, raw) as ThreadMessage['message'] | null
  return message && { message, attachments: (itemsIn(raw, 'attachments') ?? []).map(readAttachment) }
}

/** Reads an attachment. A malformed attachment also gets a row, so the other attachments keep their positions. */
function readAttachment(raw: unknown, position: number): Attachment {
  const row = rowOf(threadAttachments, isObject(raw) ? raw : {}) as Pick<Attachment, 'name' | 'download_path'> | null
  const { name = null, download_path = null } = row ?? {}
  const document_key = download_path ? documentKeyOf(download_path, name) : null
  return { position, name, download_path, document_key, raw: rawOf(raw) ?? 'null' }
}
