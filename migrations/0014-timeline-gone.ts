import type { Migration } from '../src/store/schema/migration.ts'

/** `activity_timeline` showed what the service no longer shows without a word on that, so that nobody could leave it out. */
export const timelineGone: Migration = {
  version: 14,
  name: 'timeline-gone',
  oldestCompatible: 1,
  // Postgres replaces it, so that readers keep their rights.
  statements: (t) => (t.kind === 'sqlite' ? ['drop view activity_timeline', `create ${TIMELINE}`] : [`create or replace ${TIMELINE}`]),
}

const TIMELINE = `view activity_timeline as
  select account, submission_id, occurred_at, 'market_events' as entity, event_id as record_id, type as kind, market_name as party,
    status_label as summary, detail as text, first_seen_at, first_seen_via, gone_at
  from market_events
  union all
  select account, submission_id, occurred_at, 'thread_messages', message_id, kind, from_address, subject, body_text, first_seen_at, first_seen_via,
    gone_at
  from thread_messages`
