import { z } from 'zod'
import { listCompleteness } from '../../store/completeness/ledger-list.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { time } from '../output/schema.ts'
import { knownAccounts } from '../status/accounts.ts'
import { COMPLETENESS_SCOPE } from '../status/completeness.ts'
import { summedUp } from '../status/sums.ts'
import { name, page, pageOf, paging, placeIn, submissionId, whole } from './inputs.ts'
import { operation } from './operation.ts'

const account = z
  .looseObject({
    account: z.string(),
    submissions: z.int(),
    unreachable: z.int(),
    never_read: z.int(),
    lag_seconds: z.int(),
    proven: z.int().describe('submissions that a reconcile run has found, or made, equal to the service'),
    oldest_proof_at: time.nullable(),
    lost_webhooks: z.int(),
    webhook_loss_ratio: z.number().nullable(),
  })
  .meta({ id: 'AccountCompleteness', description: 'a row of the view account_completeness' })

const accounts = operation({
  name: 'completeness.accounts',
  summary: 'tell how complete the mirror is, by account, and what nobody can say',
  role: 'viewer',
  http: 'GET /completeness',
  withoutCommand: '`status` tells it',
  input: z.strictObject({ account: name.optional().describe('only this one') }),
  output: pageOf(account).extend({
    scope: z.string().describe('what complete means'),
    counted_at: time.nullable().describe('when it was counted: of a large mirror once a minute; null: now'),
  }),
  run: async (c, given) => {
    const { read } = c.sums
    await refuseUnknownNames(read, c.config, given)
    const known = (await knownAccounts(read, c.config.accounts)).map((each) => each.account)
    const names = known.filter((each) => each === (given.account ?? each))
    const { of, countedAt } = await summedUp(read, names, c.isTerminal)
    const items = names.flatMap((each) => of(each).completeness ?? []).map((sum) => ({ ...sum }))
    return { ...whole(items), scope: COMPLETENESS_SCOPE, counted_at: countedAt }
  },
})

const submission = z
  .looseObject({
    account: z.string(),
    submission_id: z.string(),
    tracked_at: time,
    tracked_via: z.string().describe('how it became known'),
    unreachable_since: time.nullable(),
    lag_seconds: z.int(),
    proved_at: time.nullable(),
    lost_webhooks: z.int(),
  })
  .meta({ id: 'SubmissionCompleteness', description: 'a row of the view completeness' })

const submissions = operation({
  name: 'completeness.submissions',
  summary: 'tell how complete the mirror of each submission of an account is, by their ids',
  role: 'viewer',
  http: 'GET /accounts/:name/completeness',
  withoutCommand: '`submission show` tells it of one, and the view completeness of all',
  input: z.strictObject({ name, submission_id: submissionId.optional(), ...paging }),
  output: pageOf(submission),
  run: async (c, { name: of, submission_id: submissionId, limit, cursor }) => {
    const { read } = c.sums
    await refuseUnknownNames(read, c.config, { account: of })
    const after = cursor === undefined ? undefined : String(placeIn(cursor, ['string'])[0])
    const rows = await listCompleteness(read, { account: of, submissionId, after }, limit + 1)
    return page(
      rows.map((row) => ({ ...row })),
      limit,
      (last) => [last.submission_id],
    )
  },
})

export const operations = [accounts, submissions]
