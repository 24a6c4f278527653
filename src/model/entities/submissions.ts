import { entity, type RowOf } from '../entity.ts'
import { account } from './common.ts'

const probed = '`discovery:` and the path, as the settings have it, whose answer held its id'

/** The time of a read. It follows every answer and is no change. */
function readAt(meaning: string) {
  return { kind: 'time', class: 'none', source: 'program', meaning, local: true, volatile: true } as const
}

/** When the service made a part of the view. It follows every answer and is no change. */
function generatedAt(part: string) {
  const path = `${part}.generated_at`
  const meaning = `when the service made the ${part} that it showed last`
  return { kind: 'time', class: 'none', source: `\`${path}\``, path, meaning, volatile: true } as const
}

export const submissions = entity({
  table: 'submissions',
  holds:
    'One row for each submission that is known: because a delivery named it, because somebody told the program to track it, or because a path ' +
    'that the settings have probed (`accounts[].discovery`) showed its id. The service describes no list of submissions to ask for.',
  read: 'requirements',
  key: ['account', 'submission_id'],
  fields: {
    account,
    submission_id: { kind: 'text', class: 'none', source: '`submission_id`', meaning: "the submission's id" },
    insured_name: { kind: 'text', class: 'personal', shown: true, meaning: 'name of the insured' },
    lines: { kind: 'json', class: 'business', meaning: 'lines of business, a list of slugs' },
    effective_date: { kind: 'date', class: 'business', meaning: 'date from which cover is wanted' },
    state: { kind: 'text', class: 'business', meaning: 'the US state, two letters' },
    forms: { kind: 'json', class: 'business', meaning: 'list of the keys of its forms' },
    marketing_status: {
      kind: 'text',
      class: 'business',
      meaning: 'so far `not_started`, `matching`, `matched`, `no_markets_matched`; no lanes while `matching` means "not yet"',
    },
    marketing_hint: { kind: 'text', nullable: true, class: 'free', shown: true, meaning: 'what the service adds to that' },
    form_fill_active: {
      kind: 'bool',
      class: 'none',
      source: '`form_fill_active` of the requirements view',
      path: 'form_fill_active',
      meaning: 'a live form-fill session owns the set of forms',
    },
    outstanding_form_fill_active: {
      kind: 'bool',
      class: 'none',
      source: '`form_fill_active` of the outstanding requirements',
      path: 'form_fill_active',
      meaning: 'the same, as of the read of the outstanding requirements',
      read: 'outstanding',
    },
    outstanding_answerable_count: {
      kind: 'int',
      class: 'none',
      source: '`answerable_count` of the outstanding requirements',
      path: 'answerable_count',
      meaning: 'how many of them the broker can answer',
      read: 'outstanding',
    },
    outstanding_markets_total: {
      kind: 'int',
      class: 'none',
      source: '`markets_total` of the outstanding requirements',
      path: 'markets_total',
      meaning: 'how many markets they concern',
      read: 'outstanding',
    },
    insured_id: {
      kind: 'text',
      class: 'none',
      source: '`insured_id` in any answer about it',
      meaning: 'its insured, as in `insureds`; null while no answer has named one',
      local: true,
    },
    tracked_at: { kind: 'time', class: 'none', source: 'program', meaning: 'since when it is tracked here', local: true },
    tracked_via: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: `how it became known: \`webhook\`; \`command\` (an operator named it, by a command or the admin route); ${probed}; \`poll\`, \`reconcile\``,
      local: true,
    },
    last_event_at: {
      kind: 'time',
      class: 'none',
      source: '`market_events`',
      meaning: '`occurred_at` of its newest event that is not gone',
      derivedFrom: 'events',
    },
    last_message_at: {
      kind: 'time',
      class: 'none',
      source: '`thread_messages`',
      meaning: '`occurred_at` of its newest message that is not gone',
      derivedFrom: 'thread',
    },
    last_activity_at: {
      kind: 'time',
      class: 'none',
      source: '`market_events`, `thread_messages`',
      meaning: 'the later of these two; null when there is neither. Order by it for the latest submissions',
      derivedFrom: 'events',
    },
    unreachable_since: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'since when the service answers "not found" (confirmed three times); null while it is found',
      local: true,
    },
    state_read_at: readAt('when the requirements view was last read; the part of it with an earlier time was left out of the answer'),
    rail_read_at: readAt('when an answer last contained the rail: lanes, quotes and source offers; null: none has'),
    quote_history_read_at: readAt('when an answer last contained the quote history; null: none has'),
    assessment_read_at: readAt('when an answer last contained the assessment: programs and their requirements; null: none has'),
    rail_generated_at: generatedAt('rail'),
    assessment_generated_at: generatedAt('assessment'),
    raw: {
      kind: 'raw',
      class: 'free',
      source: 'the whole view',
      meaning:
        'the requirements view; null before the first read. ' +
        'One that differs in `generated_at` and `evaluated_at` alone leaves the one before',
    },
    outstanding_raw: {
      kind: 'raw',
      class: 'free',
      source: 'the outstanding requirements',
      meaning:
        'the answer without its `items`, which stand in `outstanding_items` with their `raw`; null before the first read. ' +
        'Its `form_fill_active` may differ from that of the requirements view',
      read: 'outstanding',
    },
    sessions_raw: {
      kind: 'raw',
      class: 'free',
      source: 'the sessions read',
      meaning:
        'the answer without its list, which stands in `carrier_api_sessions` with each `sessions_raw`; null before the first read, and when the ' +
        'answer is nothing but a list',
      read: 'sessions',
    },
  },
})

export type SubmissionRow = RowOf<typeof submissions>
