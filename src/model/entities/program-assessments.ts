import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, laneId, submissionId } from './common.ts'
import { bool, raw, text, time } from './fields.ts'

export const programAssessments = entity({
  table: 'program_assessments',
  holds:
    'One row for each program that the service checked the submission against; a lane may have several. A view without an assessment changes ' +
    'nothing.',
  read: 'requirements',
  key: ['account', 'submission_id', 'lane_id', 'program_key'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: { ...laneId, path: 'submission_market_id', as: 'uuid', required: true },
    program_key: itemKey({ own: 'program_id', hashed: ['program_display_name'] }),
    market_name: text('business', "the market's name"),
    program_id: text('none', "the program's id", { as: 'id' }),
    program_display_name: text('business', "the program's name"),
    channel: text('business', 'so far `email`, `api`, `portal`'),
    program_category: text('business', 'so far `instant_quote`, `binding`, `specialty`'),
    enforcement: text('business', 'so far `enforce`, `report_only`, `none`'),
    submit_ready: bool('none', 'ready to go to the market'),
    evaluated_at: time('none', 'when the service checked; changes with every answer and is not logged', { volatile: true }),
    gone_at: goneFrom('the assessment'),
    raw: raw('free', 'the program in the assessment, with its items', { source: 'the whole program' }),
  },
})
