import { z } from 'zod'
import type { AccountConfig } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { auditedDb } from '../../store/operators/actions.ts'
import { retryAccountNow } from '../../store/reads/accounts.ts'
import { lastUses } from '../../store/reads/last-uses.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { unknownName } from '../actions/names.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { when } from '../output/text.ts'
import { knownAccount, knownAccounts } from '../status/accounts.ts'
import { secretStates, secretsText, webhookSecrets } from '../status/webhook-secrets.ts'
import { name, pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

const account = knownAccount
  .extend({
    webhook_secrets: webhookSecrets,
    credentials: z
      .array(z.object({ client_id: z.string(), is_in_use: z.boolean(), last_token_at: time.nullable() }))
      .readonly()
      .describe('in the order of the settings; in use is the one that the service last took; and when it last gave a token for each'),
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
  table: [
    'Accounts',
    [
      ...(['account', 'state', 'since', 'retry_at', 'brokerage', 'client_id'] as const),
      ['credential name', ({ label }) => label],
      ['last token by credential', credentialsText, 'below'],
      ['last good signature by secret', (a, now) => secretsText(a.webhook_secrets, now), 'below'],
      'reason',
    ],
    'There is no account yet.',
  ],
})

/** Every account of the database and of the settings, by name. */
async function shownAccounts(q: Query, configured: readonly AccountConfig[]) {
  const secrets = await secretStates(q, configured)
  const lastUse = await lastUses(q, 'credential')
  return (await knownAccounts(q, configured)).map((each) => {
    const credentials = configured.find(({ name }) => name === each.account)?.clientCredentials ?? []
    return {
      ...each,
      webhook_secrets: secrets.get(each.account) ?? [],
      credentials: credentials.map(({ id }) => ({
        client_id: id,
        is_in_use: id === each.client_id,
        last_token_at: lastUse(each.account, id),
      })),
    }
  })
}

/** @returns `bac_1: 3 min ago, bac_2: never`. */
function credentialsText({ credentials }: z.output<typeof account>, nowMs: number): string {
  return credentials.map(({ client_id: id, last_token_at: at }) => `${id}: ${at === null ? 'never' : when(at, nowMs)}`).join(', ')
}

const resume = operation({
  name: 'account.resume',
  summary: 'let a suspended or paused account try at once instead of at its time',
  role: 'operator',
  http: 'POST /accounts/:name/resume',
  input: z.strictObject({ name: name.describe('of the account') }),
  argument: 'name',
  output: record('AccountResumed', {
    account: z.string(),
    was: account.shape.state,
    reason: z.string().nullable().describe('why it was so'),
    resumed: z.boolean().describe('false: it was active, and there was nothing to resume'),
    at_once: z.boolean().describe('whether a process runs that tries now'),
  }),
  run: async (c, { name: of }) => {
    const known = await knownAccounts(c.db.read, c.config.accounts)
    const { account: found, state: was, reason } = known.find((each) => each.account === of) ?? {}
    if (found === undefined || was === undefined || reason === undefined)
      throw new NotFoundError([
        unknownName(
          'account',
          of,
          known.map((each) => each.account),
        ),
      ])
    if (was === 'not started')
      throw new ConflictError([`account ${of} was never served; start \`submission-mirror serve\` with it in the settings first`])
    if (was === 'not configured') throw new ConflictError([`account ${of} is not in the settings; add it again, then restart \`serve\``])
    const resumed = was !== 'active'
    if (resumed) await retryAccountNow(auditedDb(c.db, { who: c.who, action: 'account.resume', target: of, detail: { was } }), of)
    const isRunning = (await listProcesses(c.db.read)).some(({ role }) => role === 'all' || role === 'work')
    return { account: found, was, reason, resumed, at_once: resumed && isRunning }
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
