import { z } from 'zod'
import { parseSeqRange } from '../actions/arguments.ts'
import { prepareResend, resend as queue, resendEntities, shownResend } from '../actions/resend.ts'
import { record } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'
import { momentOf, name, ofSubmission, period } from './inputs.ts'
import { operation } from './operation.ts'

const resent = record('Resent', {
  destination: z.string(),
  dry_run: z.boolean(),
  queued: z.int(),
  changes: z.int().describe('changes to send again'),
  submissions: z.int(),
  first_seq: z.int().nullable(),
  last_seq: z.int().nullable(),
  waiting: z.int().describe('of these, still queued from before, so sent twice'),
  dead_lettered: z.int().describe('of these, dead-lettered earlier'),
  unknown: z.int().describe('of these, sent earlier with unknown outcome'),
  filtered: z.int().describe('excluded by the current filters of the destination'),
  purged: z.int().describe('excluded because the submission was purged'),
  changed_since: z.int().describe('submissions with later changes that are not included'),
  continues: z.boolean().describe('whether this completes an interrupted resend'),
  notes: z.array(z.string()).describe('notes, one sentence each'),
})

export const resend = operation({
  name: 'destination.resend',
  summary: 'send changes again to a destination that lost them: in order, after the queued changes',
  description: 'After an interruption, the same request within a day sends the rest.',
  role: 'operator',
  http: 'POST /destinations/:name/resend',
  input: z
    .strictObject({
      name: name.describe('destination name'),
      ...period('changes logged'),
      seq: z
        .string()
        .max(40)
        .refine(
          (text) => parseSeqRange(text, '', []) !== undefined,
          'is not a range of changes; give the first and last number, such as 100-250',
        )
        .optional()
        .describe('only these change numbers, such as `100-250`'),
      submission_id: ofSubmission,
      entity: z.enum(resendEntities).optional().describe('only this table'),
      new_ids: z.boolean().default(false).describe('use new message ids, for a receiver that skips known ids'),
      dry_run: z.boolean().default(false).describe('print how many changes match, without sending them'),
    })
    .refine(
      ({ name: _, new_ids: __, dry_run: ___, ...which }) => Object.values(which).some((value) => value !== undefined),
      'select changes by since, until, seq, submission, or entity',
    ),
  argument: 'name',
  output: resent,
  run: async (c, { name: of, new_ids: newIds, dry_run, ...which }) => {
    const { since, until, seq, submission_id: submission, entity } = which
    const selection = {
      since: momentOf(c, since),
      until: momentOf(c, until),
      seq: parseSeqRange(seq, '', []),
      submissionId: submission,
      entity,
    }
    const asked = Object.fromEntries(Object.entries(which).filter((pair): pair is [string, string] => pair[1] !== undefined))
    const prepared = await prepareResend(c, c.config, of, { selection, asked, newIds })
    const shown = shownResend(prepared)
    if (dry_run || shown.changes === 0) return { dry_run, queued: 0, ...shown }
    c.announce(textOf(shown, 'will'))
    return { dry_run, queued: await queue(c, prepared), ...shown }
  },
  print: (to, { queued, ...shown }) =>
    to.line(shown.dry_run || shown.changes === 0 ? textOf(shown, 'would') : `${pluralize(queued, 'change')} queued`),
})

function textOf(shown: ReturnType<typeof shownResend>, verb: 'will' | 'would'): string {
  const { destination, changes, submissions, first_seq: first, last_seq: last, notes } = shown
  const which =
    first === null
      ? ''
      : ` of ${pluralize(submissions, 'submission')} (${first === last ? `number ${first}` : `numbers ${first} to ${last}`})`
  return [`${pluralize(changes, 'change')}${which} ${verb} be sent again to ${destination}`, ...notes.map((note) => `- ${note}`)].join('\n')
}
