import type { PushItem } from './delivery.ts'

/**
 * @returns a change as JSON, for the body of a webhook or queue message. Every attempt makes the same text. Copies
 * `afterText` if available, because serializing a large row is slow.
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

/** Removes the closing brace of an object's JSON, so that the caller can append members. */
function opened(json: string): string {
  return json.slice(0, -1)
}

/**
 * @returns a message's direction as the brokerage sees it, and whether the brokerage wrote the message. The service's
 * `inbound` is `sent` for the brokerage (trap 73). An unknown direction becomes null.
 * @param service `thread_messages.direction`; null if the record isn't a message.
 */
export function directionOf(service: string | null): Pick<PushItem, 'direction' | 'echo'> {
  if (service === 'inbound') return { direction: 'sent', echo: true }
  return { direction: service === 'outbound' ? 'received' : null, echo: false }
}
