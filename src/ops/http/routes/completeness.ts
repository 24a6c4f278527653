import { z } from 'zod'
import { accountCompleteness } from '../../../store/completeness/ledger.ts'
import { listCompleteness } from '../../../store/completeness/ledger-list.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { name, submissionId, time } from '../../operations/inputs.ts'
import { knownAccounts } from '../../status/accounts.ts'
import { COMPLETENESS_SCOPE } from '../../status/completeness.ts'
import { answersAbout } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { limit, named, page, pageOf, whole } from '../api/schemas.ts'

const account = z
  .looseObject({
    account: z.string(),
    submissions: z.int(),
    unreachable: z.int(),
    never_read: z.int(),
    lag_seconds: z.int(),
    proven: z.int().meta({ description: 'submissions that a reconcile run has found, or made, equal to the service' }),
    oldest_proof_at: time.nullable(),
    lost_webhooks: z.int(),
    webhook_loss_ratio: z.number().nullable(),
  })
  .meta({ id: 'AccountCompleteness', description: 'a row of the view account_completeness' })

const submission = z
  .looseObject({
    account: z.string(),
    submission_id: z.string(),
    tracked_at: time,
    tracked_via: z.string().meta({ description: 'how it became known' }),
    unreachable_since: time.nullable(),
    lag_seconds: z.int(),
    proved_at: time.nullable(),
    lost_webhooks: z.int(),
  })
  .meta({ id: 'SubmissionCompleteness', description: 'a row of the view completeness' })

const accounts = {
  summary: 'how complete the mirror is, by account, and what nobody can say',
  tags: ['completeness'],
  querystring: z.strictObject({ account: name.optional().meta({ description: 'only this one' }) }),
  response: answersAbout('all accounts', pageOf(account).extend({ scope: z.string().meta({ description: 'what complete means' }) })),
}

const submissions = {
  summary: 'how complete the mirror of each submission of an account is',
  tags: ['completeness'],
  params: named,
  querystring: z.strictObject({ submission_id: submissionId.optional(), limit, after: submissionId.optional() }),
  response: answersAbout('a page of submissions, by their ids', pageOf(submission)),
}

/** `/completeness` */
export function addCompleteness(api: Api, p: AdminParts): void {
  api.get('/completeness', { schema: accounts }, async ({ query }) => {
    await refuseUnknownNames(p.db.read, p.config(), query)
    const known = await knownAccounts(p.db.read, p.config().accounts)
    const sums = []
    for (const each of known.filter(({ account: of }) => of === (query.account ?? of))) {
      const sum = await accountCompleteness(p.db.read, each.account)
      if (sum !== null) sums.push({ ...sum })
    }
    return { ...whole(sums), scope: COMPLETENESS_SCOPE }
  })
  api.get('/accounts/:name/completeness', { schema: submissions }, async ({ params, query }) => {
    const { submission_id, limit: max, after } = query
    await refuseUnknownNames(p.db.read, p.config(), { account: params.name })
    const rows = await listCompleteness(p.db.read, { account: params.name, submissionId: submission_id, after }, max + 1)
    return page(
      rows.map((row) => ({ ...row })),
      max,
      (last) => last.submission_id,
    )
  })
}
