import { z } from 'zod'
import { createDocumentStorage } from '../../../documents/storage/create.ts'
import { parseTime } from '../../../model/time.ts'
import { accountNamed } from '../../actions/accounts.ts'
import { purgePreview, purgeSubmissions, submissionsGoneBefore } from '../../actions/purge.ts'
import { name, submissionId } from '../../operations/inputs.ts'
import { answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

/** A request waits for the end of the purge, which walks the change log once. */
const MOST_PURGED = 500

const DAY = /^\d{4}-\d\d-\d\d$/

const body = z
  .strictObject({
    account: name.optional().meta({ description: 'the account that they belong to; the default account when left out' }),
    ids: z.array(submissionId).min(1).max(MOST_PURGED).optional(),
    gone_before: z
      .string()
      .max(40)
      .transform((text, context) => {
        const at = parseTime(DAY.test(text) ? `${text}T00:00:00Z` : text)
        if (at !== null) return at
        context.addIssue({ code: 'custom', message: 'is no day, such as 2026-01-31, and no time' })
        return z.NEVER
      })
      .optional()
      .meta({ description: 'those that the service has not known since before this day or time, the 500 first by id' }),
    dry_run: z.boolean().default(false).meta({ description: 'only say what would be removed' }),
  })
  .refine(({ ids, gone_before }) => (ids === undefined) !== (gone_before === undefined), 'give ids, or gone_before')

const purged = z
  .object({
    account: z.string(),
    dry_run: z.boolean(),
    submissions: z.array(z.string()).meta({ description: 'removed, or to be removed' }),
    unknown: z.array(z.string()).meta({ description: 'had no row here; they will not be tracked either' }),
  })
  .meta({ id: 'SubmissionsPurged' })

const schema = {
  summary: 'remove everything that is kept of submissions, and do not track them again',
  description: 'What the command `purge` does. The answer comes at the end; a request that is broken off is repeated, and goes on.',
  tags: ['submissions'],
  body,
  response: answersOfAction('what was removed', purged),
}

/** `POST /submissions/purge` */
export function addPurge(api: Api, p: AdminParts): void {
  api.post('/submissions/purge', { schema }, async (request) => {
    const { ids, gone_before, dry_run } = request.body
    const { name: account } = accountNamed(p.config(), request.body.account, 'account')
    const a = actionContextFor(p, request)
    const wanted = gone_before === undefined ? [...new Set(ids)] : await submissionsGoneBefore(a, account, gone_before)
    const some = wanted.slice(0, MOST_PURGED)
    const result = await (dry_run ? purgePreview(a, account, some) : purgeSubmissions(a, account, some, createDocumentStorage(p.config())))
    return { account, dry_run, submissions: [...result.submissions], unknown: [...result.unknown] }
  })
}
