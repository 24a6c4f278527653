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
      .describe('in the order of the settings; the one in use is the one that the service accepted last'),
  })
  .meta({ id: 'Account' })

const list = operation({
  name: 'account.list',
  summary: 'list accounts: state, brokerage, and when each credential and webhook secret last worked',
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
      ['last token per credential', credentialsText, 'below'],
      ['last valid signature per secret', (a, now) => secretsText(a.webhook_secrets, now), 'below'],
      'reason',
    ],
    'No account.',
  ],
})

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

/** @returns when each credential last got a token, such as `bac_1: 3 min ago, bac_2: never`. */
function credentialsText({ credentials }: z.output<typeof account>, nowMs: number): string {
  return credentials.map(({ client_id: id, last_token_at: at }) => `${id}: ${at === null ? 'never' : when(at, nowMs)}`).join(', ')
}

const resume = operation({
  name: 'account.resume',
  summary: 'retry a suspended or paused account now',
  role: 'operator',
  http: 'POST /accounts/:name/resume',
  input: z.strictObject({ name: name.describe('account name') }),
  argument: 'name',
  output: record('AccountResumed', {
    account: z.string(),
    was: account.shape.state,
    reason: z.string().nullable().describe('why it was in that state'),
    resumed: z.boolean().describe('false if it was already active'),
    at_once: z.boolean().describe('whether a running process retries it now'),
  }),
  run: async (c, { name: of }) => {
    const known = await knownAccounts(c.db.read, c.config.accounts)
    const found = known.find((each) => each.account === of)
    const names = known.map((each) => each.account)
    if (found === undefined) throw new NotFoundError([unknownName('account', of, names)])
    const { state: was, reason } = found
    if (was === 'not started')
      throw new ConflictError([`account ${of} has never been served. Start \`submission-mirror serve\` with it in the settings first`])
    if (was === 'not configured') throw new ConflictError([`account ${of} is not in the settings. Add it again, then restart \`serve\``])
    const resumed = was !== 'active'
    if (resumed) await retryAccountNow(auditedDb(c.db, { who: c.who, action: 'account.resume', target: of, detail: { was } }), of)
    const isRunning = (await listProcesses(c.db.read)).some(({ role }) => role === 'all' || role === 'work')
    return { account: of, was, reason, resumed, at_once: resumed && isRunning }
  },
  print: (to, { account: of, was, reason, resumed, at_once }) => {
    if (!resumed) return to.line(`Account ${of} is already active.`)
    to.line(`Account ${of} was ${was} (${reason ?? 'no reason recorded'}).`)
    const when = at_once ? 'The service is asked again now' : 'The service is asked again when `submission-mirror serve` runs'
    to.line(`${when}. To see the result, run \`submission-mirror account list\`.`)
  },
})

export const operations = [list, resume]
