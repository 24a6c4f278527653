import { z } from 'zod'
import { listCompleteness } from '../../store/completeness/completeness.ts'
import { refuseUnknownNames } from '../actions/names.ts'
import { time } from '../output/schema.ts'
import { knownAccounts } from '../status/accounts.ts'
import { accountCompleteness, COMPLETENESS_SCOPE } from '../status/completeness.ts'
import { summedUp } from '../status/sums.ts'
import { name, page, pageOf, paging, placeIn, submissionId, whole } from './inputs.ts'
import { operation } from './operation.ts'
import { submissionCompleteness } from './submission-answers.ts'

const accounts = operation({
  name: 'completeness.accounts',
  summary: 'show how complete the mirror is, by account, and what cannot be determined',
  role: 'viewer',
  http: 'GET /completeness',
  withoutCommand: '`status` shows it',
  input: z.strictObject({ account: name.optional().describe('only this account') }),
  output: pageOf(accountCompleteness).extend({
    scope: z.string().describe('definition of complete'),
    counted_at: time.nullable().describe('large mirrors are counted once a minute; null: counted now'),
  }),
  run: async (c, given) => {
    const { read } = c.sums
    const known = (await knownAccounts(read, c.config.accounts)).map((each) => each.account)
    const names = known.filter((each) => each === (given.account ?? each))
    const { of, countedAt } = await summedUp(read, names, c.isTerminal)
    const items = names.flatMap((each) => of(each).completeness ?? []).map((sum) => ({ ...sum }))
    return { ...whole(items), scope: COMPLETENESS_SCOPE, counted_at: countedAt }
  },
})

const submissions = operation({
  name: 'completeness.submissions',
  summary: 'show how complete the mirror of each submission in an account is, by id',
  role: 'viewer',
  http: 'GET /accounts/:name/completeness',
  withoutCommand: '`submission show` shows one, the view `completeness` all',
  input: z.strictObject({ name, submission_id: submissionId.optional(), ...paging }),
  output: pageOf(submissionCompleteness),
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
