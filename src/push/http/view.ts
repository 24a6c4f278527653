import type { HttpDestination } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import type { PushItem } from '../contract/delivery.ts'
import type { TemplateInput } from './templates.ts'

/** The input that templates of a batch see as `$`: its changes in their order, each as `viewOf` shows it. */
export function batchView(items: readonly PushItem[], settings: HttpDestination['settings']): TemplateInput {
  return { items: items.map((item) => viewOf(item, settings, null)), settings }
}

/**
 * The input that templates see as `$`: the change, with the names of a webhook body, and what belongs to it. It contains no secret.
 * `config/templates.md` lists it.
 * @param document what they see of the document that goes along; null: none does.
 */
export function viewOf(item: PushItem, settings: HttpDestination['settings'], document: Json): TemplateInput {
  return {
    message_id: item.messageId,
    destination: item.destination,
    account: item.account,
    submission_id: item.submissionId,
    entity: item.entity,
    entity_id: item.entityId,
    operation: item.operation,
    cause: item.cause,
    seq: item.seq,
    snapshot: item.snapshot,
    left_filter: item.leftFilter,
    changed_at: item.changedAt,
    before: item.before,
    after: item.after,
    direction: item.direction,
    echo: item.echo,
    submission: item.submission,
    mapping: item.mapping === null ? null : { client: item.mapping.client, policy: item.mapping.policy, fields: item.mapping.fields },
    remote_id: item.remoteId,
    attempts: item.attempts,
    document,
    settings,
  }
}
