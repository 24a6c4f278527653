import { entity, type RowOf } from '../entity.ts'
import { account, byMirror, submissionId } from './common.ts'
import { bool, json, raw, text, time } from './fields.ts'

/** Attributes of a column that comes from a field of the rail, or from the lane's newest event. */
function orEvent<const P extends string>(path: P) {
  return { source: `\`${path}\`, event`, path, derivedFrom: 'events' } as const
}

export const lanes = entity({
  table: 'lanes',
  holds:
    "One row for each market (program) of a submission. `state_source` names the source of its state: `rail`, the service's own summary, or " +
    '`event`, its newest event, if no summary has named the lane yet.',
  read: 'requirements',
  key: ['account', 'submission_id', 'lane_id'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: text('none', "the lane's id, which has two names in the service", {
      source: '`rail.lanes[].submission_market_id`, `market.lane_id`',
      path: 'submission_market_id',
      as: 'uuid',
      required: true,
    }),
    market_id: text('none', "the market's id", { as: 'id' }),
    market_name: text('business', "the market's name", orEvent('market_name')),
    program: text('business', "the program's name"),
    program_id: text('none', "the program's id", { as: 'id' }),
    program_category: text('business', 'so far `instant_quote`, `binding`, `specialty`', orEvent('program_category')),
    lines: json('business', 'list of lines of business', orEvent('lines')),
    status: text('business', 'an open vocabulary', orEvent('status')),
    status_label: text('business', 'display text', orEvent('status_label')),
    submit_ready: bool('none', 'ready to go to the market'),
    gapped: bool('none', 'waits for items that only the broker can supply'),
    unmet_labels: json('free', 'list: missing items, in words', { shown: true }),
    bound: bool('business', 'coverage is placed; with `event`, true if the event is `bound`, else null', orEvent('bound')),
    chip: text(
      'business',
      'so far `bound`, `quoted`, `not_available`, `needs_info`, `in_progress`; with `event`, `bound` for `bound`, `quoted` for ' +
        '`quote_received`, `not_available` for `declined`, `withdrawn` and `blocked`, else null',
      orEvent('chip'),
    ),
    carrier_api_session_ids: json('none', 'list of ids'),
    next_step: text('free', 'next step, in words; JSON text if the service sends more', { nullable: true, shown: true, mayHoldJson: true }),
    state_source: text('none', '`rail` or `event`', byMirror),
    state_event_id: text('none', 'with `event`: the event of the state', { ...byMirror, derivedFrom: 'events' }),
    state_occurred_at: time('none', 'with `event`: when that event happened', { ...byMirror, derivedFrom: 'events' }),
    gone_at: time(
      'none',
      'when the rail was first seen without it; for a lane that no rail named, when all its events were found to be gone; null while it is there',
      { ...byMirror, derivedFrom: 'events' },
    ),
    raw: raw('free', 'the lane in the rail; null with `event`', { source: 'the whole lane' }),
  },
})

export type LaneRow = RowOf<typeof lanes>
