import type { Config, DestinationConfig } from '../../config/config.ts'
import type { Row } from '../../model/entity.ts'
import { maskedRow, maskedText, maskedValues, withoutAnswer } from '../../model/masking.ts'
import { personalDataFilter } from '../../model/personal.ts'
import type { TimeText } from '../../model/time.ts'
import { findChange } from '../../store/changes/reader.ts'
import type { Query } from '../../store/engine/db.ts'
import { findOutboxRows, type OutboxEntry } from '../../store/outbox/queries.ts'
import { hiderOf } from '../status/settings.ts'

/** What a destination is sent of a change, and what it answered last. Secrets are left out and personal values masked. */
export interface Exchange {
  readonly outbox_id: number
  readonly destination: string
  readonly request: {
    /** null: the destination is not in the settings any more. */
    readonly kind: DestinationConfig['kind'] | null
    readonly method: string | null
    /** Where it goes; null for files, and where a template says it. */
    readonly url: string | null
    readonly message_id: string
    readonly entity: string
    readonly operation: string
    readonly seq: number
    readonly changed_at: TimeText | null
    readonly before: Row | null
    /** null: the change is of a snapshot, or not in the log any more. */
    readonly after: Row | null
  }
  /** null before the first attempt. */
  readonly answer: { readonly at: TimeText; readonly status: number | null; readonly text: string | null } | null
  readonly attempts: number
}

/** The exchange of each row of the outbox with that message id, or that number. */
export async function readExchanges(q: Query, config: Config, id: string): Promise<Exchange[]> {
  const hide = hiderOf(config)
  const all: Exchange[] = []
  for (const row of await findOutboxRows(q, id)) {
    const destination = config.destinations.find(({ name }) => name === row.destination)
    const { at, text } = { at: row.tried_at, text: row.error ?? row.detail }
    const { content, personal } = await contentOf(q, row, destination)
    all.push({
      ...{ outbox_id: row.outbox_id, destination: row.destination, attempts: row.attempts },
      request: { ...addressOf(destination, hide), ...content },
      answer: at === null ? null : { at, status: row.status, text: text === null ? null : maskedText(hide(text), personal) },
    })
  }
  return all
}

/** What came of an attempt as everybody may see it. @param status of the answer; null: there was none. */
export function shownOutcome(error: string, status: number | null): string {
  return maskedText(withoutAnswer(error, status))
}

function addressOf(destination: DestinationConfig | undefined, hide: (text: string) => string) {
  if (destination === undefined) return { kind: null, method: null, url: null }
  const { kind } = destination
  if (kind === 'http') return { kind, method: destination.request.method, url: null }
  const isPosted = kind === 'webhook' || kind === 'adapter'
  return { kind, method: isPosted ? 'POST' : null, url: isPosted ? hide(destination.url) : null }
}

/** Columns that the destination is not sent are left out, as in the push itself. `personal` are the values that it was sent and are masked. */
async function contentOf(q: Query, row: OutboxEntry, destination: DestinationConfig | undefined) {
  const { message_id, entity, operation, seq } = row
  const change = await findChange(q, seq)
  const strip = personalDataFilter(destination?.personalFields ?? [], destination?.taxIdFields)
  const shown = (part: Row | null) => {
    const sent = strip(entity, part)
    return sent === null ? null : maskedRow(entity, sent)
  }
  const [before, after] = [change?.before ?? null, change?.after ?? null]
  return {
    content: { message_id, entity, operation, seq, changed_at: change?.changed_at ?? null, before: shown(before), after: shown(after) },
    personal: [before, after].flatMap((part) => (part === null ? [] : maskedValues(entity, part))),
  }
}
