import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { logEnds } from '../../store/changes/log-info.ts'
import type { Db } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import { lastBackups } from '../../store/operators/backups.ts'
import { listPauses } from '../../store/reads/pauses.ts'
import type { CachedTotals } from '../../store/upkeep/cached-totals.ts'
import { readHealth } from '../../store/upkeep/health.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { readReplication } from '../../store/upkeep/replication.ts'
import { readsOffStatus } from '../../store/upkeep/status.ts'
import type { FetchMode } from '../alarms/watch-documents.ts'
import { retentionProblems } from '../alarms/watch-upkeep.ts'
import { waitsForClocks } from '../clocks/clock-text.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import { fixText, type ShowFix } from '../health/fix.ts'
import type { Expected } from '../health/from-health.ts'
import { issueOf } from '../health/problem.ts'
import { judge, verdictWords } from '../health/verdict.ts'
import { sentenceOf } from '../health/verdict-text.ts'
import { record, time } from '../output/schema.ts'
import { knownAccount, knownAccounts } from './accounts.ts'
import { COMPLETENESS_SCOPE, completeness, completenessStatus, completenessWarnings } from './completeness.ts'
import { coverageOf, readsCoverage } from './coverage.ts'
import { destinationNotes, destinationStatus, readPushStatus } from './destinations.ts'
import { knownProblems } from './known-now.ts'
import { replication as replicationSchema, replicationWarnings } from './replication.ts'
import { lastSums, nothingCounted, summedUp } from './sums.ts'
import { secretStates, webhookSecrets } from './webhook-secrets.ts'

/** From this share of the allowed request rate on, due reads start to wait, and `status` shows a note. */
const WARN_SHARE = 0.7

const accountStatus = knownAccount.omit({ client_id: true }).extend({
  pause: z
    .object({ since: time, until: time, reason: z.string() })
    .nullable()
    .describe('the current pause that the service asked for (`Retry-After`)'),
  submissions: z.int(),
  unreachable: z.int(),
  reads: z.object({
    overdue: z.int().describe('due reads; some are always due, but not for long'),
    oldest_due_at: time.nullable(),
    failing: z.int(),
  }),
  demand_rps: z.number().describe('requests per second that the schedule needs'),
  limit_rps: z.number().nullable().describe('allowed requests per second; null: the account is not in the settings'),
  coverage: readsCoverage,
  inbox: z.object({ ready: z.int(), done: z.int(), aside: z.int(), dead: z.int() }),
  webhook_secrets: webhookSecrets,
  conflicts: z.int(),
  unreadable: z.int(),
  completeness: completeness.nullable().describe('null: `serve` never ran with the account'),
})

export const issue = z.object({
  kind: z.string().describe('name of the problem, the same as that of its alarm, if any'),
  what: z.string(),
  since: time.nullable(),
  count: z.int(),
  fix: z.union([z.object({ command: z.string() }), z.object({ runbook: z.string() })]),
})

/** Parts of a report that could not be read. */
export const unreadParts = z
  .array(z.object({ part: z.string(), reason: z.string() }))
  .readonly()
  .describe('parts that could not be read, for example because of a locked table; their data is empty')

export const status = record('Status', {
  verdict: z.enum(verdictWords).describe('verdict on the mirror'),
  sentence: z.string().describe('the verdict and its reasons as text'),
  issues: z.array(issue).describe('issues; empty unless the verdict is `attention`'),
  unread: unreadParts,
  version: z.string(),
  database: z.enum(['sqlite', 'postgres']),
  counted_at: time.nullable().describe('time of the totals (for a large mirror, or a locked table, some minutes ago); null: now'),
  accounts: z.array(accountStatus),
  destinations: z.array(destinationStatus),
  replication: replicationSchema.nullable().describe('Postgres servers with an acknowledged delivery, standbys and slots; null on SQLite'),
  change_log: z.object({ first_seq: z.int(), last_seq: z.int() }),
  backup: z
    .object({
      made_at: time.nullable(),
      bytes: z.int().nullable(),
      tried_at: time.nullable().describe('last test restore'),
    })
    .nullable()
    .describe('the last scheduled or manual backup; null on Postgres, which has its own backups'),
  clocks: z.object({
    apart: z.array(z.object({ clock: z.string(), ahead_ms: z.int() })).describe("how far this machine's clock is ahead of each clock"),
    waits: z.array(z.string()).describe('work that waits for the clocks, or for an operator'),
  }),
  processes: z.array(z.object({ process_id: z.string(), role: z.string(), version: z.string(), started_at: time })),
  scope: z.string().describe('which submissions the mirror can have'),
  warnings: z.array(z.string()).describe('sentences about what an operator should check'),
})

export type Status = z.output<typeof status>
type AccountStatus = Status['accounts'][number]

/** Settings that the verdict depends on. */
export type VerdictConfig = Pick<Config, 'accounts' | 'destinations' | 'poll'> & FetchMode

type StatusConfig = VerdictConfig & Pick<Config, 'upstream'>

/**
 * Judges the mirror only from the database, so that every process gets the same verdict.
 * @param kept cached counts of submissions; see `readHealth`.
 */
export async function judgeNow(db: Db, config: VerdictConfig, kept?: CachedTotals | null, parts = new PartReader(db.clock)) {
  const { accounts, destinations, poll } = config
  const names = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name)
  const expected: Expected = {
    nowMs: db.clock.now(),
    accounts: names(accounts),
    destinations: names(destinations),
    dormantMs: poll.dormantMs,
  }
  const q = db.readNoWait
  const health = await readHealth(q, kept === null ? null : kept?.sums, parts)
  const known = await knownProblems(q, config, health, parts)
  return { health, expected, judgement: judge(health, known, expected), countedAt: kept?.countedAt ?? null }
}

/** @returns the verdict of `status`, with a fix for each issue. */
export async function readVerdict(db: Db, config: VerdictConfig, kept?: CachedTotals | null, parts = new PartReader(db.clock)) {
  const { health, expected, judgement } = await judgeNow(db, config, kept, parts)
  return {
    verdict: judgement.verdict,
    sentence: sentenceOf(judgement, health, expected),
    issues: judgement.problems.map(issueOf),
  }
}

/** What `readStatus` needs; see `OperationContext`. */
interface StatusParts {
  readonly version: string
  readonly config: StatusConfig
  readonly showFix: ShowFix
  readonly isTerminal: boolean
}

/** Time limit in ms for `status` at a terminal. Elsewhere, the shorter default limit of `PartReader` applies. */
const TERMINAL_MS = 30_000

/**
 * @returns the data of `status`.
 * At a terminal, counts the rows now, which takes 1 to 2 s for a large database.
 * Elsewhere, uses the stored totals of a large database.
 */
export async function readStatus(db: Db, { version, config, showFix, isTerminal }: StatusParts): Promise<Status> {
  const q = db.readNoWait
  const parts = new PartReader(db.clock, isTerminal ? TERMINAL_MS : undefined)
  const known = await parts.read('the list of accounts', () => knownAccounts(q, config.accounts), [])
  const names = known.map(({ account }) => account)
  const counted = await parts.read('the counts of rows', () => summedUp(q, names, isTerminal), null)
  // If counting failed, for example because of a locked table, use the last stored counts.
  const summed = counted ?? (await parts.read('the last counts', () => lastSums(q), nothingCounted))
  const { issues, ...verdict } = await readVerdict(db, config, counted === null ? null : counted.kept, parts)
  const shown = await Promise.all(issues.map(async ({ fix, ...rest }) => ({ ...rest, fix: await showFix(fix) })))
  const offOf = await parts.read(
    'disabled reads',
    () => readsOffStatus(q),
    () => [],
  )
  const pauses = await parts.read('pauses of accounts', () => listPauses(q), [])
  const secrets = await parts.read('webhook secrets', () => secretStates(q, config.accounts), new Map())
  const accounts: AccountStatus[] = []
  for (const row of known) {
    const { account } = row
    const sums = summed.of(account)
    const configured = config.accounts.find(({ name }) => name === account)
    accounts.push({
      ...row,
      ...sums,
      pause: pauses.find((each) => each.account === account) ?? null,
      limit_rps: configured ? config.upstream.rps : null,
      coverage: coverageOf(sums.coverage, offOf(account)),
      webhook_secrets: secrets.get(account) ?? [],
      completeness: await parts.read('completeness', () => completenessStatus(q, sums.completeness, configured), null),
    })
  }
  const destinations = await parts.read('destinations', () => readPushStatus(q, config), [])
  const replication = await parts.read('replication', () => readReplication(q), null)
  const changeLog = await parts.read('the change log', () => logEnds(q), { first_seq: 1, last_seq: 0 })
  const processes = await parts.read('processes', () => listProcesses(q), [])
  // Postgres has its own backups.
  const backup = q.kind === 'postgres' ? null : await parts.read('backups', () => lastBackups(q), null)
  const clocks = await parts.read('clocks', () => clockStatus(db, config), { apart: [], waits: [] })
  return {
    ...verdict,
    unread: parts.unread,
    issues: shown.map(({ fix, ...rest }) => ({ ...rest, fix: 'command' in fix ? { command: fix.command } : fix })),
    version,
    database: db.kind,
    counted_at: summed.countedAt,
    accounts,
    destinations,
    replication,
    change_log: changeLog,
    backup,
    clocks,
    processes,
    scope: COMPLETENESS_SCOPE,
    warnings: [...shown.map(({ what, fix }) => `${what}; ${fixText(fix)}`), ...notesOf({ accounts, destinations, replication })],
  }
}

/**
 * Compares this machine's clock with the database server's clock and with the newest times in the database.
 * Only `serve` also compares this machine's clock with the services' clocks, and raises an alarm.
 * @returns the large differences, and the work that waits for the clock or for an operator.
 */
async function clockStatus(db: Db, config: StatusConfig): Promise<Status['clocks']> {
  const judged = await compareClocks(db.readNoWait)
  const retention = (await retentionProblems(db.readNoWait, db.clock.now())).filter(({ name }) => name === 'retention_waits')
  const waits = [...waitsForClocks(judged, config), ...retention.map(({ text }) => text)]
  return { apart: judged.apart.map(({ clock, aheadMs }) => ({ clock, ahead_ms: Math.round(aheadMs) })), waits }
}

/** @returns notes for operators, one sentence each. A note doesn't change the verdict. */
export function notesOf({ accounts, destinations, replication }: Pick<Status, 'accounts' | 'destinations' | 'replication'>): string[] {
  return [...replicationWarnings(replication), ...accounts.flatMap(accountNotes), ...destinations.flatMap(destinationNotes)]
}

function accountNotes(a: AccountStatus): string[] {
  const notes: string[] = []
  if (a.state === 'not configured')
    notes.push(`account ${a.account} is not configured: its deliveries are rejected and it is not read; its rows stay`)
  if (a.state === 'not started') notes.push(`account ${a.account} is not started: \`submission-mirror serve\` never ran with it`)
  const share = a.limit_rps === null ? 0 : a.demand_rps / a.limit_rps
  if (share >= WARN_SHARE) {
    notes.push(
      `account ${a.account} needs ${a.demand_rps} requests per second, ${Math.round(share * 100)} % of UPSTREAM_RPS (${a.limit_rps}); ` +
        'raise UPSTREAM_RPS as far as the service allows, or lengthen POLL_*',
    )
  }
  for (const { read, off } of a.coverage)
    if (off?.cause === 'service')
      notes.push(
        `account ${a.account} cannot use the read ${read}: ${off.reason}; the read is retried daily. If you need it, ask the service for the right ` +
          'to use it; otherwise remove it from STATE_READS',
      )
  return [...notes, ...completenessWarnings(a.account, a.completeness)]
}
