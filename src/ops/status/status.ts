import type { Config } from '../../config/config.ts'
import type { TimeText } from '../../model/time.ts'
import { lostWebhooks } from '../../store/completeness/lost-webhooks.ts'
import type { Db } from '../../store/engine/db.ts'
import { countInbox } from '../../store/inbox/queries.ts'
import { listPauses } from '../../store/reads/pauses.ts'
import type { InboxState } from '../../store/schema/inbox.ts'
import { idReadCoverage, submissionReads } from '../../store/upkeep/coverage.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { readHealth } from '../../store/upkeep/health.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { type Replication, readReplication } from '../../store/upkeep/replication.ts'
import { countEvidence, readsOffStatus, readsStatus } from '../../store/upkeep/status.ts'
import type { FetchMode } from '../alarms/watch-documents.ts'
import { waitsForClocks } from '../clocks/clock-text.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import { retentionWait, waitText } from '../clocks/retention-wait.ts'
import type { Expected } from '../health/matters.ts'
import { judge, type VerdictWord } from '../health/verdict.ts'
import { type Need, needOf, sentenceOf } from '../health/verdict-text.ts'
import { pluralize } from '../output/text.ts'
import { knownAccounts, type ShownState } from './accounts.ts'
import { COMPLETENESS_SCOPE, type CompletenessStatus, completenessStatus, completenessWarnings } from './completeness.ts'
import { type DestinationStatus, destinationNotes, readPushStatus } from './destinations.ts'
import { standingConditions } from './known-now.ts'
import { replicationWarnings } from './replication.ts'
import { type SecretState, secretStates } from './webhook-secrets.ts'

/** Share of the allowed rate from which on what is due begins to wait. */
const WARN_SHARE = 0.7

/** What the mirror is judged to be. Its names stay: `status --json` prints it. */
export interface Verdict {
  readonly verdict: VerdictWord
  /** The verdict and its reasons, for people. */
  readonly sentence: string
  /** What needs a person; empty unless the verdict is `attention`. */
  readonly needs: readonly Need[]
}

/** What `status --json` prints; there mends are told as they are called. Its names stay. */
export interface Status extends Verdict {
  readonly version: string
  readonly database: 'sqlite' | 'postgres'
  readonly accounts: readonly AccountStatus[]
  readonly destinations: readonly DestinationStatus[]
  /** On how many servers what is acknowledged lies; null on SQLite. */
  readonly replication: Replication | null
  readonly change_log: { readonly first_seq: number; readonly last_seq: number }
  /** Clocks and recorded times that differ from this machine's clock by a minute or more, and what waits until an operator acts. */
  readonly clocks: {
    readonly apart: readonly { readonly clock: string; readonly ahead_ms: number }[]
    readonly waits: readonly string[]
  }
  readonly processes: readonly {
    readonly process_id: string
    readonly role: string
    readonly version: string
    readonly started_at: TimeText
  }[]
  /** What "complete" means here, and what cannot be excluded. */
  readonly scope: string
  /** What an operator should know, a sentence each; `status --json` tells what needs one before. */
  readonly warnings: readonly string[]
}

export interface AccountStatus {
  readonly account: string
  readonly state: ShownState
  readonly reason: string | null
  readonly since: TimeText | null
  readonly retry_at: TimeText | null
  readonly brokerage: string | null
  /** The pause in force that the service asked for (`Retry-After`). */
  readonly pause: { readonly since: TimeText; readonly until: TimeText; readonly reason: string } | null
  readonly submissions: number
  readonly unreachable: number
  readonly reads: { readonly overdue: number; readonly oldest_due_at: TimeText | null; readonly failing: number }
  /** Requests a second that the timetable asks for, and the setting that limits them. */
  readonly demand_rps: number
  /** null for an account that the settings of whoever looks do not hold: `serve` may have others. */
  readonly limit_rps: number | null
  readonly freshness: readonly {
    readonly read: string
    readonly oldest_at: TimeText | null
    readonly median_at: TimeText | null
    /** Submissions that were never read by it, and all: the first fill has come so far. Of reads by id: ids. */
    readonly never: number
    readonly total: number
  }[]
  /** Reads that are not made: left out by `STATE_READS` (`settings`), or refused by the service until `retry_at` (`service`). */
  readonly reads_off: readonly {
    readonly read: string
    readonly cause: 'settings' | 'service'
    readonly reason: string
    readonly since: TimeText
    readonly retry_at: TimeText | null
  }[]
  readonly inbox: Readonly<Record<InboxState, number>>
  readonly lost_webhooks: Readonly<Record<string, number>>
  /** Those of the settings, in their order. */
  readonly webhook_secrets: readonly SecretState[]
  readonly conflicts: number
  readonly unreadable: number
  /** What is known to be complete, and by what means; null before `serve` first ran with the account. */
  readonly completeness: CompletenessStatus | null
}

/** The settings that a mirror is judged by. */
export type VerdictConfig = Pick<Config, 'accounts' | 'destinations' | 'poll'> & FetchMode

type StatusConfig = VerdictConfig & Pick<Config, 'upstream'>

/** Judges the mirror by what the database holds, never by the memory of a process. */
export async function judgeNow(db: Db, config: VerdictConfig) {
  const { accounts, destinations, poll } = config
  const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name)
  const expected: Expected = {
    nowMs: db.clock.now(),
    accounts: names(accounts),
    destinations: names(destinations),
    dormantMs: poll.dormantMs,
  }
  const health = await readHealth(db.read)
  const standing = await standingConditions(db, config, health)
  return { health, expected, judgement: judge(health, standing, expected) }
}

/** The verdict as `status` prints it. */
export async function readVerdict(db: Db, config: VerdictConfig): Promise<Verdict> {
  const { health, expected, judgement } = await judgeNow(db, config)
  return {
    verdict: judgement.verdict,
    sentence: sentenceOf(judgement, health, expected),
    needs: judgement.matters.map(needOf),
  }
}

/** Looks at everything; on a large database this takes a second or two. */
export async function readStatus(db: Db, version: string, config: StatusConfig): Promise<Status> {
  const q = db.read
  const verdict = await readVerdict(db, config)
  const inbox = await countInbox(q)
  const readsOf = await readsStatus(q)
  const offOf = await readsOffStatus(q)
  const pauses = await listPauses(q)
  const secrets = await secretStates(q, config.accounts)
  const accounts: AccountStatus[] = []
  for (const row of await knownAccounts(q, config.accounts)) {
    const { account, state, reason, since, retry_at, brokerage } = row
    const configured = config.accounts.find(({ name }) => name === account)
    const reads = readsOf(account)
    const freshness = [...(await submissionReads(q, account)), ...(await idReadCoverage(q, account))]
    const pause = pauses.find((each) => each.account === account)
    const lost = await lostWebhooks(q, account)
    const count = (wanted: InboxState) => inbox.find((each) => each.account === account && each.state === wanted)?.count ?? 0
    accounts.push({
      ...{ account, state, reason, since, retry_at, brokerage },
      pause: pause ? { since: pause.since, until: pause.until, reason: pause.reason } : null,
      submissions: reads.submissions,
      unreachable: reads.unreachable,
      reads: { overdue: reads.overdue, oldest_due_at: reads.oldestDueAt, failing: reads.failing },
      demand_rps: Math.round(reads.demandRps * 1_000) / 1_000,
      limit_rps: configured ? config.upstream.rps : null,
      freshness: freshness.map(({ read, oldestAt, medianAt, total, done }) => ({
        ...{ read, oldest_at: oldestAt, median_at: medianAt, never: total - done, total },
      })),
      reads_off: offOf(account),
      inbox: { ready: count('ready'), done: count('done'), aside: count('aside'), dead: count('dead') },
      lost_webhooks: Object.fromEntries(lost.map(({ entity, count: n }) => [entity, n])),
      webhook_secrets: secrets.get(account) ?? [],
      ...(await countEvidence(q, account)),
      completeness: await completenessStatus(q, account, configured, db.clock.now()),
    })
  }
  const destinations = await readPushStatus(q, config.destinations)
  const replication = await readReplication(q)
  const { firstSeq, lastSeq } = await changeLogEnds(q)
  const processes = (await listProcesses(q)).map(({ process_id, role, version: of, started_at }) => ({
    process_id,
    role,
    version: of,
    started_at,
  }))
  return {
    ...verdict,
    ...{ version, database: db.kind, accounts, destinations, replication },
    change_log: { first_seq: firstSeq, last_seq: lastSeq },
    clocks: await clockStatus(db, config),
    processes,
    scope: COMPLETENESS_SCOPE,
    warnings: notesOf({ accounts, destinations, replication }),
  }
}

/** How far this machine's clock is ahead of the others that can be seen from here. `serve` also compares the service's; its alarm tells. */
async function clockStatus(db: Db, config: StatusConfig): Promise<Status['clocks']> {
  const judged = await compareClocks(db)
  const wait = await retentionWait(db.read)
  const waits = [...waitsForClocks(judged, config), ...(wait === null ? [] : [waitText(wait.reason)])]
  return { apart: judged.apart.map(({ clock, aheadMs }) => ({ clock, ahead_ms: Math.round(aheadMs) })), waits }
}

/** What an operator should know though it needs nobody now, a sentence each. */
export function notesOf({ accounts, destinations, replication }: Pick<Status, 'accounts' | 'destinations' | 'replication'>): string[] {
  return [...replicationWarnings(replication), ...accounts.flatMap(accountNotes), ...destinations.flatMap(destinationNotes)]
}

function accountNotes(a: AccountStatus): string[] {
  const notes: string[] = []
  if (a.state === 'not configured')
    notes.push(`account ${a.account} is not configured: nothing is received or read for it any more; its rows stay as they are`)
  if (a.state === 'not started') notes.push(`account ${a.account} is not started: \`submission-mirror serve\` never ran with it`)
  const share = a.limit_rps === null ? 0 : a.demand_rps / a.limit_rps
  if (share >= WARN_SHARE) {
    notes.push(
      `account ${a.account} needs ${a.demand_rps} requests a second, ${Math.round(share * 100)} % of UPSTREAM_RPS (${a.limit_rps}); ` +
        'raise UPSTREAM_RPS as far as the service allows, or lengthen POLL_*',
    )
  }
  for (const off of a.reads_off)
    if (off.cause === 'service')
      notes.push(
        `account ${a.account} is not read by ${off.read}: ${off.reason}; it is tried again daily. If it is to be had, ask the service for the right ` +
          'to it; else take it out of STATE_READS',
      )
  if (a.conflicts > 0)
    notes.push(
      `account ${a.account} has ${pluralize(a.conflicts, 'record')} that contradict what was kept; both versions are in sync_conflicts`,
    )
  if (a.unreadable > 0)
    notes.push(`account ${a.account} has ${pluralize(a.unreadable, 'item')} that could not be read; see sync_unreadable`)
  return [...notes, ...completenessWarnings(a.account, a.completeness)]
}
