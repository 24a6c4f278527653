import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { submissionView } from './0005-completeness.ts'

/** `submission_overview` and `completeness` read the running counts. Their columns stay. */
export const countedViews: Migration = {
  version: 16,
  name: 'counted-views',
  oldestCompatible: 1,
  // Postgres replaces them, so that readers keep their rights.
  statements: (t) =>
    t.kind === 'sqlite'
      ? ['drop view submission_overview', 'drop view completeness', `create ${overview(t)}`, completeness(t)]
      : [`create or replace ${overview(t)}`, completeness(t).replace('create view', 'create or replace view')],
}

function completeness(t: ColumnTypes): string {
  return submissionView(t, t.kind === 'sqlite' ? '+' : '', COUNTS)
}

/** @param more columns behind the others, for a later step. The row of `submissions` is `s`. */
export function overview(t: ColumnTypes, more = ''): string {
  const yes = t.kind === 'sqlite' ? '1' : 'true'
  const standing = (what: string, table: string) =>
    `(select ${what} from ${table} x where x.account = s.account and x.submission_id = s.submission_id and x.gone_at is null`
  return `view submission_overview as
    select s.account, s.submission_id, s.insured_name, s.lines, s.effective_date, s.state,
      s.marketing_status, s.marketing_hint, s.form_fill_active, s.last_event_at, s.last_message_at, s.unreachable_since,
      r.last_read_at as state_read_at,
      ${standing('count(*)', 'lanes')}) as lane_count,
      ${standing('count(*)', 'lanes')} and x.bound = ${yes}) as bound_lane_count,
      ${standing('count(*)', 'quotes')}) as quote_count,
      ${standing('min(x.total_cents)', 'quotes')}) as lowest_quote_cents,
      ${COUNTS.events} as event_count, ${COUNTS.messages} as message_count${more}
    from submissions s
    left join sync_reads r on r.account = s.account and r.submission_id = s.submission_id and r.read = 'requirements'
    ${COUNTS.join}`
}

/** A submission without records has no row there. */
const COUNTS = {
  events: 'coalesce(n.events, 0)',
  messages: 'coalesce(n.messages, 0)',
  join: 'left join sync_record_counts n on n.account = s.account and n.submission_id = s.submission_id',
}
