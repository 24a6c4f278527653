import { z } from 'zod'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { parseTime } from '../../model/time.ts'
import { accountNamed } from '../actions/names.ts'
import { purgePreview, purgeSubmissions, submissionsGoneBefore } from '../actions/purge.ts'
import { record } from '../output/schema.ts'
import { pluralize } from '../output/text.ts'
import { name, submissionId } from './inputs.ts'
import { operation } from './operation.ts'

const DAY = /^\d{4}-\d\d-\d\d$/

function dayOrTime(text: string): string | null {
  return parseTime(DAY.test(text) ? `${text}T00:00:00Z` : text)
}

const purge = operation({
  name: 'purge',
  summary: 'remove everything that is kept of submissions, and do not track them again',
  description: 'The answer comes at the end. What is broken off is ended by the next purge of the account, whatever that is asked for.',
  role: 'admin',
  needs: 'account',
  http: 'POST /submissions/purge',
  input: z
    .strictObject({
      ids: z.array(submissionId).min(1).optional().describe('ids of submissions'),
      gone_before: z
        .string()
        .max(40)
        .refine((text) => dayOrTime(text) !== null, 'is no day, such as 2026-01-31, and no time')
        .optional()
        .describe('those that the service has not known since before this day (YYYY-MM-DD) or time'),
      account: name.optional().describe('the account that they belong to; the default account when left out'),
      dry_run: z.boolean().optional().describe('only say what would be removed'),
    })
    .refine(({ ids, gone_before }) => (ids === undefined) !== (gone_before === undefined), 'give ids of submissions, or gone_before'),
  argument: 'ids',
  output: record('SubmissionsPurged', {
    account: z.string(),
    dry_run: z.boolean(),
    submissions: z.array(z.string()).readonly().describe('removed, or to be removed; those of an earlier purge that was broken off, too'),
    unknown: z.array(z.string()).readonly().describe('had no row here; they will not be tracked either'),
  }),
  run: async (c, { ids, gone_before: goneBefore, account: wanted, dry_run = false }) => {
    const { name: account } = accountNamed(c.config, wanted, c.nameOf('account'))
    const all = goneBefore === undefined ? [...new Set(ids)] : await submissionsGoneBefore(c, account, dayOrTime(goneBefore) ?? '')
    const purged = await (dry_run ? purgePreview(c, account, all) : purgeSubmissions(c, account, all, createDocumentStorage(c.config)))
    return { account, dry_run, submissions: purged.submissions, unknown: purged.unknown }
  },
  print: (to, { account, dry_run, submissions, unknown }) => {
    const [would, not] = dry_run ? ['would be purged', 'would not be'] : ['purged', 'will not be']
    if (dry_run) for (const id of submissions) to.line(id)
    const others = unknown.length > 0 ? `; ${unknown.length} more had nothing here and ${not} tracked` : ''
    to.line(`${pluralize(submissions.length, 'submission')} ${would} in account ${account}${others}`)
  },
})

/** `purge` */
export const operations = [purge]
