import type { MarketEvent, ThreadMessage } from '../world/wire.ts'
import type { EventsPayload } from './options.ts'
import type { Unshown } from './unshown.ts'
import { deliveredEvent, deliveredMessage } from './variants.ts'

/** Content of a delivery, before signing. */
export interface Payload {
  readonly type: string
  readonly body: string
  /** Ids of the events or the message in the delivery. */
  readonly itemIds: readonly string[]
}

/** @returns the payloads that deliver these events in the given layout. */
export function eventPayloads(layout: EventsPayload, submissionId: string, all: readonly MarketEvent[], unshown: Unshown): Payload[] {
  const type = 'submission.events'
  const ids = all.map((event) => event.id)
  const events = all.map((event) => deliveredEvent(event, unshown))
  const payload = (content: object, itemIds = ids): Payload => ({ type, body: JSON.stringify({ type, ...content }), itemIds })
  switch (layout) {
    case 'events':
      return [payload({ submission_id: submissionId, events })]
    case 'data':
      return [payload({ data: { submission_id: submissionId, events } })]
    case 'single':
      return events.map((event) => payload({ submission_id: submissionId, event }, [event.id]))
    case 'ids-only':
      return [payload({ submission_id: submissionId, event_ids: ids })]
    case 'opaque':
      return [payload({})]
  }
}

/** @returns the payload that delivers one message. */
export function messagePayload(submissionId: string, message: ThreadMessage, unshown: Unshown): Payload {
  const type = 'submission.message'
  return {
    type,
    body: JSON.stringify({ type, submission_id: submissionId, message: deliveredMessage(message, unshown) }),
    itemIds: [message.id],
  }
}
