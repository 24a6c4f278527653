/**
 * Words that tables and the console display for names of fields and states.
 * A name that is missing here is displayed with spaces instead of underscores.
 * The console imports this file, so the file must import nothing.
 */
const words: Readonly<Record<string, string>> = {
  acknowledged_by: 'acknowledged by',
  at: 'time',
  body_bytes: 'bytes',
  changed_at: 'changed',
  chat: 'chat message',
  delivery_id: 'delivery',
  document_key: 'key',
  entity: 'table',
  entity_id: 'key',
  filter_error: 'filter error',
  finding_no: 'number',
  fired_at: 'fired',
  first_seen_at: 'first seen',
  held_streams: 'blocked',
  insured_name: 'insured',
  known_at: 'first seen',
  known_via: 'found by',
  label: 'item',
  last_changed_at: 'last changed',
  last_read_at: 'last read',
  last_full_read_at: 'full re-read',
  last_seen_at: 'last seen',
  mapped_at: 'mapped',
  mapped_via: 'mapped by',
  market_name: 'market',
  median_at: 'median',
  moved_at: 'last activity',
  newest_at: 'newest',
  next_try_at: 'next attempt',
  notified_at: 'notified',
  occurred_at: 'happened',
  oldest_at: 'oldest',
  oldest_due_at: 'due since',
  oldest_reconciled_at: 'oldest reconciled',
  oldest_queued_at: 'oldest waiting',
  oldest_read_at: 'last read',
  outstanding_count: 'open items',
  premium_display: 'premium',
  process_id: 'process',
  reconciled_at: 'last reconciled',
  queued_at: 'queued',
  received_at: 'received',
  replayed_at: 'replayed',
  requested_at: 'requested',
  resolved_at: 'ended',
  retry_at: 'next attempt',
  run_id: 'run',
  seen_at: 'last seen',
  source: 'from',
  stage: 'status',
  started_at: 'started',
  status_label: 'status',
  stored_bytes: 'bytes',
  submission_id: 'submission',
  target: 'applied to',
  text: 'what happened',
  tried_at: 'last attempt',
  unmapped_streams: 'unmapped',
  verified_at: 'verified',
  what: 'type',
  // States.
  aside: 'set aside',
  budget: 'budget ended',
  held: 'blocked',
  poll: 'polling',
  full_read: 'polling (full re-read)',
  // Reads.
  rail: 'lanes (rail)',
  thread: 'messages',
  // Alarms. Other names of alarms are clear with spaces instead of underscores.
  connection_flood: 'too many connections',
  delivery_differs: 'delivery id reused',
  destination_lacks: 'delivered changes missing',
  disk_space: 'disk nearly full',
  documents_full: 'document storage full',
  inbox_backlog: 'deliveries not processed',
  inbox_dead: 'deliveries dead-lettered',
  push_dead: 'changes dead-lettered',
  push_late: 'changes not sent',
  push_unknown: 'unknown outcomes',
  push_unmapped: 'submissions unmapped',
  reconcile_findings: 'differences found',
  state_stale: 'submission stale',
  store_unavailable: 'database not writable',
  webhook_loss: 'webhooks lost',
  webhook_silence: 'webhooks stopped',
}

/** @returns the word to display for a name. A name with a dot, such as the type of a webhook, is displayed as it is. */
export function wordOf(name: string): string {
  return words[name] ?? (name.includes('.') ? name : name.replaceAll('_', ' '))
}

/** @returns the word to display for a name, with a capital letter for a heading. */
export function headOf(name: string): string {
  const word = wordOf(name)
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}

/** @returns who requested a run. @param by `command`, `cron`, or `admin:` and a token's name. */
export function requesterOf(by: string): string {
  return { command: 'command line', cron: 'schedule' }[by] ?? by.replace(/^admin:/, '')
}

/** Like `requesterOf`, as part of a sentence. */
export function requesterText(by: string): string {
  if (by === 'command') return `from the ${requesterOf(by)}`
  return by === 'cron' ? `by the ${requesterOf(by)}` : `by ${requesterOf(by)}`
}

/** Counts of a verification of delivered changes. */
interface Answers {
  /** `delivered`: number of delivered changes. `asked`: number of delivered changes that were verified. */
  readonly delivered: number
  readonly asked: number
  readonly lacks: number
  readonly differs: number
  readonly undetermined: number
}

/** @returns a text to print after the name of a destination, such as `has all 211 changes`. */
export function presenceText({ delivered, asked, lacks, differs, undetermined }: Answers): string {
  if (asked === 0) return 'has no changes to verify'
  const changes = asked === 1 ? 'change' : 'changes'
  const which = asked < delivered ? `${asked} verified ${changes} (${delivered} delivered)` : `${asked} ${changes}`
  const parts = [
    lacks > 0 && `lacks ${lacks}`,
    differs > 0 && `differs in ${differs}`,
    undetermined > 0 && `could not be checked for ${undetermined}`,
  ].filter(Boolean)
  return parts.length === 0 ? `has ${asked === 1 ? 'the' : 'all'} ${which}` : `${parts.join(', ')} of ${which}`
}
