import type { PushItem } from './delivery.ts'

/**
 * @returns a change as JSON: the body of a webhook or queue message. Every attempt yields the same text. Most of it is the stored JSON of
 * `after`.
 */
export function changeMessage(item: PushItem): string {
  const { seq, account, entity, operation, cause, before, direction } = item
  const message = JSON.stringify({ type: `${entity}.${operation}`, timestamp: item.changedAt })
  const data = JSON.stringify({
    seq,
    account,
    submission_id: item.submissionId,
    entity,
    entity_id: item.entityId,
    operation,
    changed_at: item.changedAt,
    cause,
    before,
  })
  const after = item.afterText ?? JSON.stringify(item.after)
  const brokerage = direction === null ? '' : `,"brokerage":${JSON.stringify({ direction, echo: item.echo })}`
  const snapshot = item.snapshot ? ',"snapshot":true' : ''
  const left = item.leftFilter ? ',"left_filter":true' : ''
  return `${opened(message)},"data":${opened(data)},"after":${after}}${brokerage}${snapshot}${left}}`
}

/** The JSON of an object without its closing brace, so that members can be added. */
function opened(json: string): string {
  return json.slice(0, -1)
}

/**
 * The brokerage's view of a message's direction, and whether the brokerage wrote it. The service's `inbound` is our `sent` (trap 73);
 * unknown values give null. @param service `thread_messages.direction`; null if the record is no message.
 */
export function directionOf(service: string | null): Pick<PushItem, 'direction' | 'echo'> {
  if (service === 'inbound') return { direction: 'sent', echo: true }
  return { direction: service === 'outbound' ? 'received' : null, echo: false }
}
