import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, laneId, submissionId } from './common.ts'

export const programAssessments = entity({
  table: 'program_assessments',
  holds:
    'One row for each program that the service has checked the submission against. A lane may have several. A view without an assessment changes ' +
    'nothing.',
  read: 'requirements',
  key: ['account', 'submission_id', 'lane_id', 'program_key'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: { ...laneId, path: 'submission_market_id', as: 'uuid', required: true },
    program_key: itemKey({ own: 'program_id', hashed: ['program_display_name'] }),
    market_name: { kind: 'text', class: 'business', meaning: "the market's name" },
    program_id: { kind: 'text', class: 'none', as: 'id', meaning: "the program's id" },
    program_display_name: { kind: 'text', class: 'business', meaning: "the program's name" },
    channel: { kind: 'text', class: 'business', meaning: 'so far `email`, `api`, `portal`' },
    program_category: { kind: 'text', class: 'business', meaning: 'so far `instant_quote`, `binding`, `specialty`' },
    enforcement: { kind: 'text', class: 'business', meaning: 'so far `enforce`, `report_only`, `none`' },
    submit_ready: { kind: 'bool', class: 'none', meaning: 'ready to go to the market' },
    evaluated_at: {
      kind: 'time',
      class: 'none',
      meaning: 'when the service checked. It follows every answer and is no change',
      volatile: true,
    },
    gone_at: goneFrom('the assessment'),
    raw: { kind: 'raw', class: 'free', source: 'the whole program', meaning: 'the program as the assessment shows it, with its items' },
  },
})
