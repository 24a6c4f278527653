import type { Query } from '../../store/engine/db.ts'
import { findDeliveriesFor, findPushesFor } from '../../store/mirror/search.ts'
import { submissionsPage } from './submission-views.ts'

/** Something that was found. */
export interface Found {
  readonly kind: 'submission' | 'delivery' | 'push'
  /** A submission's id, the number of a delivery or a push. */
  readonly id: string
  readonly account: string
  readonly submission_id: string | null
  /** The insured's name, the svix-id, the message id. */
  readonly title: string | null
  /** Where it stands, its state. */
  readonly state: string
  /** What it is about: a kind of delivery, a destination. */
  readonly about: string | null
  readonly at: string
}

/** Submissions by name, id, market or status, and deliveries and pushes by their ids. */
export async function searchAll(q: Query, text: string, limit: number): Promise<Found[]> {
  const [submissions, deliveries, pushes] = await Promise.all([
    submissionsPage(q, { search: text, order: '-moved', limit }),
    findDeliveriesFor(q, text, limit),
    findPushesFor(q, text, limit),
  ])
  const found: Found[] = [
    ...deliveries.map((row): Found => {
      const { inbox_id, account, submission_id, delivery_id, state, kind, received_at } = row
      return { kind: 'delivery', id: String(inbox_id), account, submission_id, title: delivery_id, state, about: kind, at: received_at }
    }),
    ...pushes.map((row): Found => {
      const { outbox_id, account, submission_id, message_id, state, destination, queued_at } = row
      return { kind: 'push', id: String(outbox_id), account, submission_id, title: message_id, state, about: destination, at: queued_at }
    }),
    ...submissions.items.map((item): Found => {
      const { account, submission_id, insured_name, stands, moved_at } = item
      return {
        kind: 'submission',
        id: submission_id,
        account,
        submission_id,
        title: insured_name,
        state: stands,
        about: null,
        at: moved_at,
      }
    }),
  ]
  return found.slice(0, limit)
}
