import type { TimeText } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import type { Pile } from '../../store/upkeep/health.ts'
import { type MendRequest, mendRequestOf } from './mend-request.ts'
import { judgeNow, type VerdictConfig } from './status.ts'
import { type Lateness, servedAccounts, type VerdictWord } from './verdict.ts'
import { type Mend, type Need, needOf, sentenceOf } from './verdict-text.ts'

/** A matter that needs a person, with the request that mends it where there is one. */
export interface OverviewNeed extends Omit<Need, 'mend'> {
  readonly account: string | null
  readonly destination: string | null
  /** The reconcile run that it is about. */
  readonly run_id: string | null
  readonly mend: Mend | (Mend & MendRequest)
}

/** Whether the mirror is right, and what that is judged by. Its names stay: the route prints it. */
export interface Overview {
  readonly verdict: VerdictWord
  readonly sentence: string
  /** Since when it needs a person or is behind, as far as that is known. */
  readonly since: TimeText | null
  readonly needs: readonly OverviewNeed[]
  readonly late: readonly Lateness[]
  /** Whether a process works on the database now. */
  readonly served: boolean
  readonly submissions: { readonly known: number; readonly unreachable: number; readonly never_read: number }
  readonly inbox: PileShown
  readonly accounts: readonly {
    readonly account: string
    readonly state: string
    readonly submissions: number
    readonly newest_read_at: TimeText | null
    readonly stalest_read_at: TimeText | null
    readonly oldest_wake_at: TimeText | null
    readonly dead: PileShown
  }[]
  readonly destinations: readonly {
    readonly destination: string
    readonly state: string
    readonly oldest_unsent_at: TimeText | null
    readonly dead: PileShown
    readonly unknown: PileShown
    readonly held: PileShown
    readonly unmapped: PileShown
  }[]
}

interface PileShown {
  readonly count: number
  readonly oldest_at: TimeText | null
}

/** Reads it from the database alone, by queries that may be asked every few seconds. */
export async function readOverview(db: Db, config: VerdictConfig): Promise<Overview> {
  const { health, expected, judgement } = await judgeNow(db, config)
  const accounts = servedAccounts(health, expected)
  const sum = (of: 'submissions' | 'unreachable' | 'neverRead') => accounts.reduce((total, each) => total + each[of], 0)
  return {
    ...{ verdict: judgement.verdict, sentence: sentenceOf(judgement, health, expected), since: judgement.since },
    needs: judgement.matters.map((matter) => {
      const need = needOf(matter)
      const { account, destination, name } = matter
      const runId = matter.kind === 'run_not_clean' ? name : null
      return { ...need, account, destination, run_id: runId, mend: { ...need.mend, ...mendRequestOf(matter) } }
    }),
    ...{ late: judgement.late, served: health.isServed, inbox: shown(health.inbox) },
    submissions: { known: sum('submissions'), unreachable: sum('unreachable'), never_read: sum('neverRead') },
    accounts: health.accounts.map((each) => ({
      ...{ account: each.account, state: each.state, submissions: each.submissions, dead: shown(each.dead) },
      ...{ newest_read_at: each.newestReadAt, stalest_read_at: each.stalestReadAt, oldest_wake_at: each.oldestWakeAt },
    })),
    destinations: health.destinations.map((each) => ({
      ...{ destination: each.destination, state: each.state, oldest_unsent_at: each.oldestUnsentAt },
      ...{ dead: shown(each.dead), unknown: shown(each.unknown), held: shown(each.held), unmapped: shown(each.unmapped) },
    })),
  }
}

function shown({ count, oldestAt }: Pile): PileShown {
  return { count, oldest_at: oldestAt }
}
