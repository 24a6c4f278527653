import { entity } from '../entity.ts'
import { account, goneFrom, itemKey, laneId, submissionId } from './common.ts'
import { bool, raw, text } from './fields.ts'

export const requirementItems = entity({
  table: 'requirement_items',
  holds: 'Requirements of a program, one row for each, with the result of the check.',
  read: 'requirements',
  parent: 'program_assessments',
  key: ['account', 'submission_id', 'lane_id', 'program_key', 'item_key'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: laneId,
    program_key: text('none', 'its program, as in `program_assessments`', { source: "the program's `program_key`" }),
    item_key: itemKey({ own: 'key', hashed: ['label'] }),
    result: text(
      'business',
      'the list that contains it: `met`, `unmet`, or `deferred`, which the service does not define; `due_stage` says when it is due',
      { source: '`met[]`, `unmet[]`, `deferred[]`' },
    ),
    key: text('none', "the service's name of it; may be null", { nullable: true }),
    label: text('free', 'display text', { shown: true }),
    severity: text('none', 'so far `hard`, `preferred`'),
    resolution: text('none', 'who supplies it: so far `broker`, `auto`, `internal`'),
    repr: text('none', 'so far `structured`, `free_text`, `form`, `file`'),
    form_key: text('none', 'the form that supplies it', { nullable: true }),
    due_stage: text('none', 'by when: so far `quote`, `bind`'),
    satisfied: bool('none', 'null: unknown', { nullable: true }),
    blocks_submission: bool('none', 'null: unknown', { nullable: true }),
    gone_at: goneFrom('the assessment'),
    raw: raw('free', 'the item as received', { source: 'the whole item' }),
  },
})
