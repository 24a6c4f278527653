import { entity, type RowOf } from '../entity.ts'
import { account, submissionId } from './common.ts'

export const lanes = entity({
  table: 'lanes',
  holds:
    'One row for each market (program) in which a submission is tried. `state_source` says whose word its state is: `rail` is the ' +
    "service's own summary; `event` means that no summary has named the lane yet, and its state is that of its newest event.",
  read: 'requirements',
  key: ['account', 'submission_id', 'lane_id'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: {
      kind: 'text',
      class: 'none',
      source: '`rail.lanes[].submission_market_id`, `market.lane_id`',
      path: 'submission_market_id',
      as: 'uuid',
      required: true,
      meaning: "the lane's id: one id, two names",
    },
    market_id: { kind: 'text', class: 'none', as: 'id', meaning: "the market's id" },
    market_name: {
      kind: 'text',
      class: 'business',
      source: '`market_name`, event',
      path: 'market_name',
      meaning: "the market's name",
      derivedFrom: 'events',
    },
    program: { kind: 'text', class: 'business', meaning: "the program's name" },
    program_id: { kind: 'text', class: 'none', as: 'id', meaning: "the program's id" },
    program_category: {
      kind: 'text',
      class: 'business',
      source: '`program_category`, event',
      path: 'program_category',
      meaning: 'so far `instant_quote`, `binding`, `specialty`',
      derivedFrom: 'events',
    },
    lines: {
      kind: 'json',
      class: 'business',
      source: '`lines`, event',
      path: 'lines',
      meaning: 'list of lines of business',
      derivedFrom: 'events',
    },
    status: {
      kind: 'text',
      class: 'business',
      source: '`status`, event',
      path: 'status',
      meaning: 'an open vocabulary',
      derivedFrom: 'events',
    },
    status_label: {
      kind: 'text',
      class: 'business',
      source: '`status_label`, event',
      path: 'status_label',
      meaning: 'the same in words to show',
      derivedFrom: 'events',
    },
    submit_ready: { kind: 'bool', class: 'none', meaning: 'ready to go to the market' },
    gapped: { kind: 'bool', class: 'none', meaning: 'held for something that only the broker can supply' },
    unmet_labels: { kind: 'json', class: 'free', shown: true, meaning: 'list: what is still missing, in words' },
    bound: {
      kind: 'bool',
      class: 'business',
      source: '`bound`, event',
      path: 'bound',
      meaning: 'coverage is placed; with `event`, true if the event is `bound`, else null',
      derivedFrom: 'events',
    },
    chip: {
      kind: 'text',
      class: 'business',
      source: '`chip`, event',
      path: 'chip',
      meaning:
        'so far `bound`, `quoted`, `not_available`, `needs_info`, `in_progress`; with `event`, `bound` for `bound`, `quoted` for ' +
        '`quote_received`, `not_available` for `declined`, `withdrawn` and `blocked`, else null',
      derivedFrom: 'events',
    },
    carrier_api_session_ids: { kind: 'json', class: 'none', meaning: 'list of ids' },
    next_step: {
      kind: 'text',
      nullable: true,
      class: 'free',
      shown: true,
      meaning: 'what comes next, in words; JSON text when the service sends more than words',
      mayHoldJson: true,
    },
    state_source: { kind: 'text', class: 'none', source: 'program', meaning: '`rail` or `event`', local: true },
    state_event_id: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: 'with `event`: the event that the state is taken from',
      local: true,
      derivedFrom: 'events',
    },
    state_occurred_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'with `event`: when that happened',
      local: true,
      derivedFrom: 'events',
    },
    gone_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning:
        'when the rail was first seen without it; of a lane that no rail has named, when all events that told of it were found to be gone; ' +
        'null while it is there',
      local: true,
      derivedFrom: 'events',
    },
    raw: { kind: 'raw', class: 'free', source: 'the whole lane', meaning: 'the lane as the rail shows it; null with `event`' },
  },
})

export type LaneRow = RowOf<typeof lanes>
