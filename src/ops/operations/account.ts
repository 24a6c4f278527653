import { z } from 'zod'
import { resumeAccount, shownAccounts } from '../actions/accounts.ts'
import { ago, until } from '../output/text.ts'
import { time } from '../output/time.ts'
import { secretsText } from '../status/webhook-secrets.ts'
import { name, pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

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

const list = operation({
  name: 'account.list',
  summary:
    'list the accounts: state, brokerage, when each credential got a token last, and when each webhook secret verified a delivery last',
  role: 'viewer',
  http: 'GET /accounts',
  input: z.strictObject({}),
  output: pageOf(account),
  run: async (c) => whole(await shownAccounts(c.db.read, c.config.accounts)),
  print: (to, { items }) => {
    const headings = [
      ...['account', 'state', 'for', 'next try', 'brokerage', 'client id'],
      { heading: 'last token by credential', fit: 'below' } as const,
      { heading: 'last good signature by secret', fit: 'below' } as const,
      { heading: 'reason', fit: 'below' } as const,
    ]
    const rows = items.map((a) => [
      ...[a.account, a.state, ago(a.since, to.now), until(a.retry_at, to.now), a.brokerage, a.client_id],
      ...[credentialsText(a, to.now), secretsText(a.webhook_secrets, to.now), a.reason],
    ])
    to.table({ title: 'Accounts', headings, rows }, 'There is no account yet.')
  },
})

/** @returns `bac_1: 3 min ago, bac_2: never`. */
function credentialsText({ credentials }: z.output<typeof account>, nowMs: number): string {
  return credentials.map(({ client_id: id, last_token_at: at }) => `${id}: ${at === null ? 'never' : `${ago(at, nowMs)} ago`}`).join(', ')
}

const resume = operation({
  name: 'account.resume',
  summary: 'let a parked or paused account try at once instead of at its time',
  role: 'operator',
  http: 'POST /accounts/:name/resume',
  input: z.strictObject({ name: name.meta({ description: 'of the account' }) }),
  argument: 'name',
  output: z
    .object({
      account: z.string(),
      was: account.shape.state,
      reason: z.string().nullable().meta({ description: 'why it was so' }),
      resumed: z.boolean().meta({ description: 'false: it was active, and there was nothing to resume' }),
      at_once: z.boolean().meta({ description: 'whether a process runs that tries now' }),
    })
    .meta({ id: 'AccountResumed' }),
  run: async (c, given) => {
    const { before, resumed, running } = await resumeAccount(c, c.config.accounts, given.name)
    return { account: before.account, was: before.state, reason: before.reason, resumed, at_once: resumed && running }
  },
  print: (to, { account: of, was, reason, resumed, at_once }) => {
    if (!resumed) return to.line(`account ${of} is active: there is nothing to resume`)
    const when = at_once ? 'now' : 'as soon as `submission-mirror serve` runs'
    to.line(`account ${of} was ${was} (${reason ?? 'no reason is kept'})`)
    to.line(`it asks the service again ${when}, and is active when that succeeds; see \`submission-mirror account list\``)
  },
})

/** `account list|resume` */
export const operations = [list, resume]
