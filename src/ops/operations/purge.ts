import { z } from 'zod'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { parseTime } from '../../model/time.ts'
import { goneBefore } from '../../store/mirror/purge.ts'
import { accountNamed } from '../actions/names.ts'
import { purgePreview, purgeSubmissions } from '../actions/purge.ts'
import { record } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'
import { inOneAccount, submissionId } from './inputs.ts'
import { operation } from './operation.ts'

const DAY = /^\d{4}-\d\d-\d\d$/

function dayOrTime(text: string): string | null {
  return parseTime(DAY.test(text) ? `${text}T00:00:00Z` : text)
}

const purge = operation({
  name: 'purge',
  summary: 'delete all data of submissions and stop tracking them',
  description: 'Answers when finished. If a purge is interrupted, the next purge of the account completes it.',
  role: 'admin',
  needs: 'account',
  http: 'POST /submissions/purge',
  input: z
    .strictObject({
      ids: z.array(submissionId).min(1).optional().describe('submission ids'),
      gone_before: z
        .string()
        .max(40)
        .refine((text) => dayOrTime(text) !== null, 'is neither a day, such as 2026-01-31, nor a time')
        .optional()
        .describe('all submissions that became unknown to the service before this day (YYYY-MM-DD) or time'),
      account: inOneAccount,
      dry_run: z.boolean().optional().describe('list what would be deleted, without deleting it'),
    })
    .refine(({ ids, gone_before }) => (ids === undefined) !== (gone_before === undefined), 'give either ids or gone_before'),
  argument: 'ids',
  output: record('SubmissionsPurged', {
    account: z.string(),
    dry_run: z.boolean(),
    submissions: z.array(z.string()).readonly().describe('deleted, or to be deleted; includes those of an interrupted purge'),
    unknown: z.array(z.string()).readonly().describe('without rows in the mirror; they will not be tracked either'),
  }),
  run: async (c, { ids, gone_before: before, account: wanted, dry_run = false }) => {
    const { name: account } = accountNamed(c.config, wanted, c.nameOf('account'))
    const all = before === undefined ? [...new Set(ids)] : await goneBefore(c.db.read, account, dayOrTime(before) ?? '')
    const purged = await (dry_run ? purgePreview(c, account, all) : purgeSubmissions(c, account, all, createDocumentStorage(c.config)))
    return { account, dry_run, submissions: purged.submissions, unknown: purged.unknown }
  },
  print: (to, { account, dry_run, submissions, unknown }) => {
    const [would, not] = dry_run ? ['would be purged', 'would not be'] : ['purged', 'will not be']
    if (dry_run) for (const id of submissions) to.line(id)
    const others = unknown.length > 0 ? `; ${unknown.length} more had no data and ${not} tracked` : ''
    to.line(`${pluralize(submissions.length, 'submission')} ${would} in account ${account}${others}`)
  },
})

export const operations = [purge]
