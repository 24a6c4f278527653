import { entity, type RowOf } from '../entity.ts'
import { account, byMirror } from './common.ts'
import { bool, date, int, json, raw, text, time } from './fields.ts'

const probed = '`discovery:` and the path in the settings whose answer contained its id'

/** Time of a read. It differs in every answer, so it isn't logged as a change. */
function readAt(meaning: string) {
  return time('none', meaning, { ...byMirror, volatile: true })
}

/** Time at which the service created a part of the view. It differs in every answer, so it isn't logged as a change. */
function generatedAt(part: string) {
  const path = `${part}.generated_at`
  const meaning = `when the service made the newest ${part}`
  return time('none', meaning, { source: `\`${path}\``, path, volatile: true })
}

function ofOutstanding<const P extends string>(path: P) {
  return { source: `\`${path}\` of the outstanding requirements`, path, read: 'outstanding' } as const
}

export const submissions = entity({
  table: 'submissions',
  holds:
    'One row for each known submission: a delivery named it, an operator tracks it, or a probed path (`accounts[].discovery`) contained its id. ' +
    'The service describes no list of submissions.',
  read: 'requirements',
  key: ['account', 'submission_id'],
  fields: {
    account,
    submission_id: text('none', "the submission's id", { source: '`submission_id`' }),
    insured_name: text('personal', 'name of the insured', { shown: true }),
    lines: json('business', 'lines of business, a list of slugs'),
    effective_date: date('business', 'requested start of coverage'),
    state: text('business', 'the US state, two letters'),
    forms: json('business', 'list of the keys of its forms'),
    marketing_status: text(
      'business',
      'so far `not_started`, `matching`, `matched`, `no_markets_matched`; no lanes while `matching` means "not yet"',
    ),
    marketing_hint: text('free', "the service's note on it", { nullable: true, shown: true }),
    form_fill_active: bool('none', 'a live form-fill session owns the set of forms', {
      source: '`form_fill_active` of the requirements view',
      path: 'form_fill_active',
    }),
    outstanding_form_fill_active: bool('none', '`form_fill_active` of the outstanding requirements', ofOutstanding('form_fill_active')),
    outstanding_answerable_count: int('none', 'outstanding items that the broker can answer', ofOutstanding('answerable_count')),
    outstanding_markets_total: int('none', '`markets_total` of the outstanding items, as sent', ofOutstanding('markets_total')),
    insured_id: text('none', 'its insured, as in `insureds`; null until an answer names one', {
      source: '`insured_id` in any answer about it',
      local: true,
    }),
    tracked_at: time('none', 'since when it is tracked here', byMirror),
    tracked_via: text(
      'none',
      `how it became known: \`webhook\`; \`command\` (an operator named it, by a command or the admin route); ${probed}; \`poll\`, \`reconcile\``,
      byMirror,
    ),
    last_event_at: time('none', '`occurred_at` of its newest event that is not gone', { source: '`market_events`', derivedFrom: 'events' }),
    last_message_at: time('none', '`occurred_at` of its newest message that is not gone', {
      source: '`thread_messages`',
      derivedFrom: 'thread',
    }),
    last_activity_at: time('none', 'the later of these two; null if both are. Order by it for the latest submissions', {
      source: '`market_events`, `thread_messages`',
      derivedFrom: 'events',
    }),
    unreachable_since: time('none', 'since when the service answers "not found" (confirmed three times); null while it is found', byMirror),
    stage: text(
      'none',
      '`unreachable`; else the most advanced state of its lanes: `bound`, `quoted`, `needs_info`, `in_progress`, `not_available`; without lanes ' +
        'its `marketing_status`, or `unknown`',
      { source: '`lanes`, `marketing_status`', local: true, volatile: true },
    ),
    state_read_at: readAt('when the requirements view was last read; a part with an earlier time was not in the answer'),
    rail_read_at: readAt('when an answer last contained the rail: lanes, quotes and source offers; null: never'),
    quote_history_read_at: readAt('when an answer last contained the quote history; null: never'),
    assessment_read_at: readAt('when an answer last contained the assessment: programs and their requirements; null: never'),
    rail_generated_at: generatedAt('rail'),
    assessment_generated_at: generatedAt('assessment'),
    raw: raw(
      'free',
      'the requirements view; null before the first read. ' + 'A view that differs only in `generated_at` and `evaluated_at` is not stored',
      { source: 'the whole view' },
    ),
    outstanding_raw: raw(
      'free',
      'the answer without its `items`, which are in `outstanding_items` with their `raw`; null before the first read. ' +
        'Its `form_fill_active` may differ from that of the requirements view',
      { source: 'the outstanding requirements', read: 'outstanding' },
    ),
    sessions_raw: raw(
      'free',
      'the answer without its list, which is in `carrier_api_sessions` with each `sessions_raw`; null before the first read, and if the ' +
        'answer is only a list',
      { source: 'the sessions read', read: 'sessions' },
    ),
  },
})

export type SubmissionRow = RowOf<typeof submissions>
