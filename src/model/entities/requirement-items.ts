import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, laneId, submissionId } from './common.ts'

export const requirementItems = entity({
  table: 'requirement_items',
  holds: 'What a program requires, one row for each requirement, with what the service found.',
  read: 'requirements',
  parent: 'program_assessments',
  key: ['account', 'submission_id', 'lane_id', 'program_key', 'item_key'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: laneId,
    program_key: {
      kind: 'text',
      class: 'none',
      source: "the program's `program_key`",
      meaning: 'its program, as in `program_assessments`',
    },
    item_key: itemKey({ own: 'key', hashed: ['label'] }),
    result: {
      kind: 'text',
      class: 'business',
      source: '`met[]`, `unmet[]`, `deferred[]`',
      meaning: 'the list in which it stands: `met`, `unmet`, `deferred`',
    },
    key: { kind: 'text', nullable: true, class: 'none', meaning: 'what the service calls it; may be null' },
    label: { kind: 'text', class: 'free', shown: true, meaning: 'the same in words to show' },
    severity: { kind: 'text', class: 'none', meaning: 'so far `hard`, `preferred`' },
    resolution: { kind: 'text', class: 'none', meaning: 'who supplies it: so far `broker`, `auto`, `internal`' },
    repr: { kind: 'text', class: 'none', meaning: 'so far `structured`, `free_text`, `form`, `file`' },
    form_key: { kind: 'text', nullable: true, class: 'none', meaning: 'the form that supplies it' },
    due_stage: { kind: 'text', class: 'none', meaning: 'by when: so far `quote`, `bind`' },
    satisfied: { kind: 'bool', nullable: true, class: 'none', meaning: 'null: not known' },
    blocks_submission: { kind: 'bool', nullable: true, class: 'none', meaning: 'null: not known' },
    gone_at: goneFrom('the assessment'),
    raw: { kind: 'raw', class: 'free', source: 'the whole item', meaning: 'the item as it came' },
  },
})
