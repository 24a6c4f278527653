/**
 * What people read in place of the names that programs use for fields and states: headings of tables, states in them, filters and chips of the
 * console. A name that is not here is its own word. The console imports this file, so it imports none.
 */
const words: Readonly<Record<string, string>> = {
  acknowledged_by: 'noted by',
  at: 'time',
  body_bytes: 'bytes',
  changed_at: 'changed',
  delivery_id: 'delivery',
  document_key: 'key',
  entity: 'table',
  entity_id: 'key',
  filter_error: 'its filter fails',
  finding_no: 'number',
  fired_at: 'fired',
  first_seen_at: 'first seen',
  held_lanes: 'on hold',
  inbox_id: 'number',
  insured_name: 'insured',
  known_at: 'first seen',
  known_via: 'found by',
  label: 'item',
  last_changed_at: 'last changed',
  last_read_at: 'last read',
  last_replay_at: 'read from the beginning',
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
  oldest_proof_at: 'oldest proof',
  oldest_queued_at: 'oldest',
  oldest_read_at: 'last read',
  outbox_id: 'number',
  outstanding_count: 'outstanding',
  premium_display: 'premium',
  process_id: 'process',
  proved_at: 'last verified',
  queued_at: 'queued',
  received_at: 'received',
  rejected_id: 'number',
  replayed_at: 'replayed',
  requested_at: 'requested',
  resolved_at: 'ended',
  resource: 'read',
  retry_at: 'next attempt',
  run_id: 'run',
  seen_at: 'last seen',
  source: 'from',
  stage: 'status',
  started_at: 'started',
  status_label: 'status',
  stored_bytes: 'bytes',
  submission_id: 'submission',
  text: 'what happened',
  tried_at: 'last attempt',
  unmapped_lanes: 'unmapped',
  verified_at: 'verified',
  what: 'type',
  // States.
  aside: 'set aside',
  budget: 'ended by its budget',
  held: 'on hold',
  poll: 'polling',
  replay: 'polling (full re-read)',
}

/** @returns a name as people read it. */
export function wordOf(name: string): string {
  return words[name] ?? name.replaceAll('_', ' ')
}

/** @returns a name as it heads a column. */
export function headOf(name: string): string {
  const word = wordOf(name)
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`
}

/** @returns who asked for a run, as people read it. @param by `command`, `cron`, or `admin:` and the name of a token. */
export function requesterText(by: string): string {
  if (by === 'command') return 'from the command line'
  return by === 'cron' ? 'by the schedule' : `by ${by.replace(/^admin:/, '')}`
}

/** What a destination answered when it was asked for changes that it took: counts. */
interface Answers {
  /** Changes that counted as delivered, and those of them that were asked for. */
  readonly delivered: number
  readonly asked: number
  readonly lacks: number
  readonly differs: number
  readonly cannot_tell: number
}

/** @returns as a phrase what a destination has, behind its name: `has all 211`. */
export function presenceText({ delivered, asked, lacks, differs, cannot_tell }: Answers): string {
  if (asked === 0) return 'was asked for nothing'
  const which = asked < delivered ? `${asked} asked for (${delivered} delivered)` : String(asked)
  const parts = [
    lacks > 0 && `lacks ${lacks}`,
    differs > 0 && `has ${differs} not as sent`,
    cannot_tell > 0 && `does not tell of ${cannot_tell}`,
  ].filter(Boolean)
  return parts.length === 0 ? `has all ${which}` : `${parts.join(', ')} of ${which}`
}
