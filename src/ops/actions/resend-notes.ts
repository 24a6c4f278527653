import type { DestinationConfig } from '../../config/config.ts'
import type { TimeText } from '../../model/time.ts'
import type { ResendPlan } from '../../push/queue/resend.ts'
import type { StoredAuditEntry } from '../../store/operators/actions.ts'
import type { DestinationRow } from '../../store/outbox/destinations.ts'
import type { ResendSelection } from '../../store/outbox/resend.ts'
import { pluralize, printableLine, shortTime } from '../output/text.ts'

export interface ResendFacts {
  readonly destination: Pick<DestinationConfig, 'name' | 'idempotent'>
  readonly state: Pick<DestinationRow, 'state' | 'cursor'>
  readonly plan: ResendPlan
  readonly selection: ResendSelection
  /** Number of the oldest change in the change log. */
  readonly firstSeq: number
  /** True if the messages get new ids. */
  readonly isNew: boolean
  readonly continues: { readonly since: TimeText; readonly queued: number } | null
  /** Other unfinished resends to the same destination. */
  readonly others: readonly StoredAuditEntry[]
}

/** @returns notes for the operator about a planned resend, one sentence each. */
export function resendNotes(f: ResendFacts): string[] {
  const { destination, state, continues, others } = f
  const notes = [...notesOfSelection(f), ...(f.plan.changes > 0 ? notesOfSending(f) : [])]
  if (continues !== null)
    notes.unshift(
      `completes the interrupted resend of ${shortTime(continues.since)} UTC: ${pluralize(continues.queued, 'change')} already queued`,
    )
  for (const { at, who, action_id } of others)
    notes.push(
      `another resend to ${destination.name} by ${printableLine(who)} at ${shortTime(at)} UTC (action ${action_id}) is unfinished; run the same request again to complete it`,
    )
  if (state.state !== 'active')
    notes.push(`destination ${destination.name} is ${state.state}; to send the changes, run \`destination resume ${destination.name}\``)
  return notes
}

/** @returns notes about selected changes that the resend doesn't send. */
function notesOfSelection({ destination, state, plan, selection, firstSeq }: ResendFacts): string[] {
  const notes: string[] = []
  const [first, last] = selection.seq ?? [null, null]
  if (firstSeq > 1 && (first === null ? selection.since === undefined || plan.firstSeq === firstSeq : first < firstSeq))
    notes.push(
      `the change log begins at change ${firstSeq}, and older changes cannot be sent again (CHANGES_RETENTION_DAYS); a new destination with \`start: snapshot\` gets the current rows`,
    )
  if (last !== null && last > state.cursor)
    notes.push(`changes after ${state.cursor} are not queued for ${destination.name} yet; they are sent automatically`)
  if (plan.filtered > 0) notes.push(`${pluralize(plan.filtered, 'change')} excluded by the current filters of the destination`)
  if (plan.purged > 0) notes.push(`${pluralize(plan.purged, 'change')} excluded because the submission was purged`)
  return notes
}

function notesOfSending({ destination, plan, isNew }: ResendFacts): string[] {
  const { name, idempotent } = destination
  const notes: string[] = []
  if (!idempotent) notes.push(`destination ${name} is not idempotent: it may store the changes twice`)
  else if (!isNew) notes.push('message ids stay the same: a receiver that remembers ids skips known changes; use new ids to avoid that')
  if (isNew) notes.push('message ids are new: a receiver cannot detect duplicates')
  if (plan.waiting > 0) notes.push(`${pluralize(plan.waiting, 'change')} still queued from before, so sent twice`)
  if (plan.deadLettered > 0)
    notes.push(`${pluralize(plan.deadLettered, 'change')} dead-lettered earlier; after the resend, skip the dead-lettered changes`)
  if (plan.unknown > 0)
    notes.push(
      `${pluralize(plan.unknown, 'change')} with unknown outcome from before; after the resend, skip the changes with unknown outcome`,
    )
  if (plan.changedSince > 0)
    notes.push(
      `${pluralize(plan.changedSince, 'submission')} changed later: a receiver that ignores \`seq\` will show old values; leave the end of the range open to send the later changes too`,
    )
  return notes
}
