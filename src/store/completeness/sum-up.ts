import type { Query } from '../engine/db.ts'
import { countInbox } from '../inbox/queries.ts'
import type { InboxState } from '../schema/inbox.ts'
import { documentCoverage, extraReadCoverage, idReadCoverage, submissionReads, tableCoverage } from '../upkeep/coverage.ts'
import { countNeverRead } from '../upkeep/health.ts'
import type { AccountSums, Sums } from '../upkeep/kept-sums.ts'
import { countEvidence, readsStatus } from '../upkeep/status.ts'
import { accountCompleteness } from './ledger.ts'

/** Counts everything of these accounts. With five million events it takes a second or two: for a minute's turn, and for people at a terminal. */
export async function sumUp(q: Query, accounts: readonly string[]): Promise<Sums> {
  const inbox = await countInbox(q)
  const readsOf = await readsStatus(q)
  const sums: Record<string, AccountSums> = {}
  for (const account of accounts) {
    const count = (state: InboxState) => inbox.find((each) => each.account === account && each.state === state)?.count ?? 0
    sums[account] = {
      ...readsOf(account),
      neverRead: await countNeverRead(q, account),
      coverage: {
        submissions: await submissionReads(q, account),
        ids: await idReadCoverage(q, account),
        extra: await extraReadCoverage(q, account),
      },
      tables: await tableCoverage(q, account),
      documents: await documentCoverage(q, account),
      inbox: { ready: count('ready'), done: count('done'), aside: count('aside'), dead: count('dead') },
      ...(await countEvidence(q, account)),
      completeness: await accountCompleteness(q, account),
    }
  }
  return sums
}
