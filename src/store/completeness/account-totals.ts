import { idReads, readKinds } from '../../model/reads.ts'
import type { Query } from '../engine/db.ts'
import { countInbox } from '../inbox/queries.ts'
import { countConflicts } from '../operators/alarm-queries.ts'
import type { InboxState } from '../schema/inbox.ts'
import type { AccountTotals, Totals } from '../upkeep/cached-totals.ts'
import { documentCoverage, extraReadCoverage, readCoverage, tableCoverage } from '../upkeep/coverage.ts'
import { countNeverRead } from '../upkeep/health.ts'
import { readsStatus } from '../upkeep/status.ts'
import { accountCompleteness } from './completeness.ts'

/**
 * Counts the totals of these accounts. With five million events, this takes 1 to 2 s, so don't call this function in a
 * request.
 */
export async function accountTotals(q: Query, accounts: readonly string[]): Promise<Totals> {
  const inbox = await countInbox(q)
  const readsOf = await readsStatus(q)
  const sums: Record<string, AccountTotals> = {}
  for (const account of accounts) {
    const count = (state: InboxState) => inbox.find((each) => each.account === account && each.state === state)?.count ?? 0
    sums[account] = {
      ...readsOf(account),
      never_read: await countNeverRead(q, account),
      coverage: {
        submissions: await readCoverage(q, account, readKinds),
        ids: await readCoverage(q, account, idReads),
        extra: await extraReadCoverage(q, account),
      },
      tables: await tableCoverage(q, account),
      documents: await documentCoverage(q, account),
      inbox: { ready: count('ready'), done: count('done'), aside: count('aside'), dead: count('dead') },
      ...(await countConflicts(q, account)),
      completeness: await accountCompleteness(q, account),
    }
  }
  return sums
}
