import { z } from 'zod'
import { resumeAccount, shownAccounts } from '../../actions/accounts.ts'
import { answers, answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { named, pageOf, time, whole } from '../api/schemas.ts'

const account = z
  .object({
    account: z.string(),
    state: z.enum(['active', 'paused', 'parked', 'not configured', 'not started']),
    reason: z.string().nullable(),
    since: time.nullable(),
    retry_at: time.nullable().meta({ description: 'when it asks the service again by itself' }),
    brokerage: z.string().nullable().meta({ description: 'the brokerage that its credentials were found to belong to' }),
    client_id: z.string().nullable(),
    webhook_secrets: z
      .array(z.object({ position: z.int(), last_verified_at: time.nullable() }))
      .readonly()
      .meta({ description: 'when each, in the order of the settings, verified a delivery last' }),
    credentials: z
      .array(z.object({ client_id: z.string(), is_in_use: z.boolean(), last_token_at: time.nullable() }))
      .readonly()
      .meta({
        description: 'in the order of the settings; in use is the one that the service last took; and when it last gave a token for each',
      }),
  })
  .meta({ id: 'Account' })

const resumed = z
  .object({
    account: z.string(),
    was: account.shape.state,
    resumed: z.boolean().meta({ description: 'false: it was active, and there was nothing to resume' }),
    at_once: z.boolean().meta({ description: 'whether a process runs that tries now' }),
  })
  .meta({ id: 'AccountResumed' })

const list = {
  summary: 'the accounts, their state, and which brokerage each belongs to',
  tags: ['accounts'],
  response: answers('all accounts', pageOf(account)),
}

const resume = {
  summary: 'let a parked or paused account try at once instead of at its time',
  tags: ['accounts'],
  params: named,
  response: answersOfAction('what it was, and whether it tries now', resumed),
}

/** `/accounts` */
export function addAccounts(api: Api, p: AdminParts): void {
  api.get('/accounts', { schema: list }, async () => whole(await shownAccounts(p.db.read, p.config().accounts)))
  api.post('/accounts/:name/resume', { schema: resume }, async (request) => {
    const { before, resumed: done, running } = await resumeAccount(actionContextFor(p, request), p.config().accounts, request.params.name)
    return { account: before.account, was: before.state, resumed: done, at_once: done && running }
  })
}
