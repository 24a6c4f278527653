import { z } from 'zod'
import { accountNamed } from '../actions/accounts.ts'
import { requestSync } from '../actions/submissions.ts'
import { anyAccount, idOf, submissionId } from './inputs.ts'
import { type Tool, tool } from './parts.ts'

const MOST_IDS = 50

const ofOneAccount = anyAccount.describe('the account; the default account when left out')

const readNow = tool({
  name: 'read_now',
  title: 'Read submissions now',
  description: 'Has submissions read from the service now, their feeds from the beginning. The answer comes at once; the reads follow.',
  isReading: false,
  input: z.strictObject({ account: ofOneAccount, submission_ids: z.array(submissionId).min(1).max(MOST_IDS) }),
  run: async (p, given) => {
    const { name: of } = accountNamed(p.config(), given.account, 'account')
    const ids = [...new Set(given.submission_ids.map((id) => idOf(id)))]
    await requestSync(p, of, ids)
    return { data: { account: of, requested: ids.length } }
  },
})

/** The tools that change something. Each is noted in `operator_actions` under the name of the token. */
export const actingTools: readonly Tool[] = [readNow]
