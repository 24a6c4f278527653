import type { DestinationConfig } from '../../config/config.ts'
import type { TimeText } from '../../model/time.ts'
import type { ResendPlan } from '../../push/queue/resend.ts'
import type { StoredAuditEntry } from '../../store/operators/actions.ts'
import type { DestinationRow } from '../../store/outbox/destinations.ts'
import type { ResendSelection } from '../../store/outbox/resend.ts'
import { pluralize, printableLine, shortTime } from '../output/text.ts'

/** What the notes of a resend depend on. */
export interface ResendFacts {
  readonly destination: Pick<DestinationConfig, 'name' | 'idempotent'>
  readonly state: Pick<DestinationRow, 'state' | 'cursor'>
  readonly plan: ResendPlan
  readonly selection: ResendSelection
  /** The oldest change that is kept. */
  readonly firstSeq: number
  /** Whether the messages get new ids. */
  readonly isNew: boolean
  readonly continues: { readonly since: TimeText; readonly queued: number } | null
  /** Other resends to the destination that have begun and not ended. */
  readonly others: readonly StoredAuditEntry[]
}

/** What an operator should know before changes are sent again, a sentence each. */
export function resendNotes(f: ResendFacts): string[] {
  const { destination, state, continues, others } = f
  const notes = [...notesOfSelection(f), ...(f.plan.changes > 0 ? notesOfSending(f) : [])]
  if (continues !== null)
    notes.unshift(
      `this is the rest of the resend that began at ${shortTime(continues.since)} UTC and was interrupted: ${pluralize(continues.queued, 'change')} of it are queued`,
    )
  for (const { at, who, action_id } of others)
    notes.push(
      `another resend to ${destination.name}, of ${printableLine(who)} at ${shortTime(at)} UTC (action ${action_id}), has not ended; it goes on when the same is asked for again`,
    )
  if (state.state !== 'active')
    notes.push(`destination ${destination.name} is ${state.state}: they wait until \`destination resume ${destination.name}\``)
  return notes
}

/** What the selection names and is not sent. */
function notesOfSelection({ destination, state, plan, selection, firstSeq }: ResendFacts): string[] {
  const notes: string[] = []
  const [first, last] = selection.seq ?? [null, null]
  if (firstSeq > 1 && (first === null ? selection.since === undefined || plan.firstSeq === firstSeq : first < firstSeq))
    notes.push(
      `the change log begins at change ${firstSeq}: older ones are gone (CHANGES_RETENTION_DAYS) and cannot be sent again; a new destination with \`start: snapshot\` gets the present rows`,
    )
  if (last !== null && last > state.cursor)
    notes.push(`changes behind ${state.cursor} are not queued for ${destination.name} yet, or not made: they go by themselves`)
  if (plan.filtered > 0)
    notes.push(`${pluralize(plan.filtered, 'change')} left out: the filters of the destination, as they are now, do not want them`)
  if (plan.purged > 0) notes.push(`${pluralize(plan.purged, 'change')} left out: their submissions were purged`)
  return notes
}

function notesOfSending({ destination, plan, isNew }: ResendFacts): string[] {
  const { name, idempotent } = destination
  const notes: string[] = []
  if (!idempotent) notes.push(`destination ${name} is not idempotent: what it has already it gets twice`)
  else if (!isNew) notes.push('message ids stay the same: a receiver that remembers them leaves out what it has, unless they get new ids')
  if (isNew) notes.push('they get new message ids: a receiver cannot tell them from new messages')
  if (plan.waiting > 0) notes.push(`${plan.waiting} of them still wait from before, and are sent twice`)
  if (plan.givenUp > 0)
    notes.push(`${plan.givenUp} of them were given up before; those rows stay as they are: skip them when these have gone`)
  if (plan.changedSince > 0)
    notes.push(
      `${pluralize(plan.changedSince, 'submission')} changed again after these changes: a receiver that does not compare \`seq\` then shows what was before; leave the end of the range open to send the later changes too`,
    )
  return notes
}
