import type { PushItem } from './delivery.ts'

/**
 * @returns a change as JSON, as it is sent whole: the body of a webhook, and of a message in a queue. The same text on every attempt. The stored
 * JSON of `after`, most of it, is used as it is.
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
