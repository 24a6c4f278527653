import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import type { Db, Query } from '../../store/engine/db.ts'
import { PartReader } from '../../store/engine/part-reader.ts'
import { lastBackups } from '../../store/operators/backups.ts'
import { listPauses } from '../../store/reads/pauses.ts'
import { changeLogEnds } from '../../store/upkeep/gauges.ts'
import { readHealth } from '../../store/upkeep/health.ts'
import type { KeptSums } from '../../store/upkeep/kept-sums.ts'
import { listProcesses } from '../../store/upkeep/processes.ts'
import { readReplication } from '../../store/upkeep/replication.ts'
import { readsOffStatus } from '../../store/upkeep/status.ts'
import type { FetchMode } from '../alarms/watch-documents.ts'
import { waitsForClocks } from '../clocks/clock-text.ts'
import { compareClocks } from '../clocks/clock-watch.ts'
import { retentionWait, waitText } from '../clocks/retention-wait.ts'
import type { Expected } from '../health/matters.ts'
import { mendText, type ShowMend } from '../health/mend.ts'
import { withAdvice } from '../health/rules.ts'
import { judge, verdictWords } from '../health/verdict.ts'
import { needOf, sentenceOf } from '../health/verdict-text.ts'
import { record, time } from '../output/schema.ts'
import { knownAccount, knownAccounts } from './accounts.ts'
import { COMPLETENESS_SCOPE, completeness, completenessStatus, completenessWarnings } from './completeness.ts'
import { destinationNotes, destinationStatus, readPushStatus } from './destinations.ts'
import { standingConditions } from './known-now.ts'
import { replication as replicationSchema, replicationWarnings } from './replication.ts'
import { lastSums, nothingCounted, summedUp } from './sums.ts'
import { secretStates, webhookSecrets } from './webhook-secrets.ts'

/** Share of the allowed rate from which on what is due begins to wait. */
const WARN_SHARE = 0.7

/** Why a read is not made: `STATE_READS` leaves it out, or the service refused it and is asked again at `retry_at`. */
export const readOff = z.object({ cause: z.enum(['settings', 'service']), reason: z.string(), since: time, retry_at: time.nullable() })

const accountStatus = knownAccount.omit({ client_id: true }).extend({
  pause: z
    .object({ since: time, until: time, reason: z.string() })
    .nullable()
    .describe('the pause in force that the service asked for (`Retry-After`)'),
  submissions: z.int(),
  unreachable: z.int(),
  reads: z.object({
    overdue: z.int().describe('reads whose time has come; some always are, and none for long while all is well'),
    oldest_due_at: time.nullable(),
    failing: z.int(),
  }),
  demand_rps: z.number().describe('requests a second that the timetable asks for'),
  limit_rps: z.number().nullable().describe('how many are allowed; null: the settings do not have the account'),
  freshness: z.array(
    z.object({
      read: z.string(),
      oldest_at: time.nullable(),
      median_at: time.nullable(),
      never: z.int().describe('submissions that were never read by it; of reads by id: ids'),
      total: z.int(),
    }),
  ),
  reads_off: z.array(readOff.extend({ read: z.string() })).describe('reads that are not made'),
  inbox: z.object({ ready: z.int(), done: z.int(), aside: z.int(), dead: z.int() }),
  webhook_secrets: webhookSecrets,
  conflicts: z.int(),
  unreadable: z.int(),
  completeness: completeness.nullable().describe('null: `serve` never ran with the account'),
})

/** A matter that needs a person. */
export const need = z.object({
  kind: z.string(),
  what: z.string(),
  since: time.nullable(),
  count: z.int(),
  mend: z.union([z.object({ command: z.string() }), z.object({ runbook: z.string() })]),
})

/** Parts of a report that could not be read: the report says nothing of them. */
export const unreadParts = z
  .array(z.object({ part: z.string(), reason: z.string() }))
  .readonly()
  .describe('parts that could not be read, because a table is locked for example; their figures are empty')

/** What `status` tells. */
export const status = record('Status', {
  verdict: z.enum(verdictWords).describe('what the mirror is judged to be'),
  sentence: z.string().describe('the verdict and its reasons, for people'),
  needs: z.array(need).describe('what needs a person; empty unless the verdict is `attention`'),
  unread: unreadParts,
  version: z.string(),
  database: z.enum(['sqlite', 'postgres']),
  counted_at: time
    .nullable()
    .describe('when sums over everything were counted: of a large mirror, or if a table is locked, in the last minutes; null: now'),
  accounts: z.array(accountStatus),
  destinations: z.array(destinationStatus),
  replication: replicationSchema
    .nullable()
    .describe('on how many Postgres servers an acknowledged delivery lies, with standbys and slots; null on SQLite'),
  change_log: z.object({ first_seq: z.int(), last_seq: z.int() }),
  backup: z
    .object({
      made_at: time.nullable(),
      bytes: z.int().nullable(),
      tried_at: time.nullable().describe('when one was restored on trial'),
    })
    .nullable()
    .describe('the last backup, by BACKUP_CRON or by hand; null on Postgres, which is backed up by other means'),
  clocks: z.object({
    apart: z.array(z.object({ clock: z.string(), ahead_ms: z.int() })).describe("how far this machine's clock is ahead of each"),
    waits: z.array(z.string()).describe('what waits for that, or for an operator'),
  }),
  processes: z.array(z.object({ process_id: z.string(), role: z.string(), version: z.string(), started_at: time })),
  scope: z.string().describe('what complete means, and what cannot be excluded'),
  warnings: z.array(z.string()).describe('what an operator should look into, a sentence each'),
})

export type Status = z.output<typeof status>
type AccountStatus = Status['accounts'][number]

/** The settings that a mirror is judged by. */
export type VerdictConfig = Pick<Config, 'accounts' | 'destinations' | 'poll'> & FetchMode

type StatusConfig = VerdictConfig & Pick<Config, 'upstream'>

/**
 * Judges the mirror by what the database holds, never by the memory of a process.
 * @param kept counts of submissions, see `readHealth`.
 */
export async function judgeNow(db: Db, config: VerdictConfig, kept?: KeptSums | null, parts = new PartReader(db.clock)) {
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
  const standing = await standingConditions(q, config, health, parts)
  return { health, expected, judgement: judge(health, standing, expected), countedAt: kept?.countedAt ?? null }
}

/** The verdict as `status` prints it, with what mends each need. */
export async function readVerdict(db: Db, config: VerdictConfig, kept?: KeptSums | null, parts = new PartReader(db.clock)) {
  const { health, expected, judgement } = await judgeNow(db, config, kept, parts)
  return {
    verdict: judgement.verdict,
    sentence: sentenceOf(judgement, health, expected),
    needs: judgement.matters.map(needOf),
  }
}

/** What the status is told by; see `OperationContext`. */
interface StatusParts {
  readonly version: string
  readonly config: StatusConfig
  readonly showMend: ShowMend
  readonly isTerminal: boolean
}

/** Time for counting everything at a terminal. Nobody else waits for that; a locked table is given up at once. */
const TERMINAL_MS = 30_000

/** Reports everything. At a terminal, counting a large database takes a second or two. */
export async function readStatus(db: Db, { version, config, showMend, isTerminal }: StatusParts): Promise<Status> {
  const q = db.readNoWait
  const parts = new PartReader(db.clock, isTerminal ? TERMINAL_MS : undefined)
  const known = await parts.read('the list of accounts', () => knownAccounts(q, config.accounts), [])
  const names = known.map(({ account }) => account)
  const counted = await parts.read('the counts of rows', () => summedUp(q, names, isTerminal), null)
  // A locked table prevents counting. The counts of the last minutes are better than none.
  const summed = counted ?? (await parts.read('the last counts', () => lastSums(q), nothingCounted))
  const { needs, ...verdict } = await readVerdict(db, config, counted === null ? null : counted.kept, parts)
  const shown = await Promise.all(needs.map(async ({ mend, ...rest }) => ({ ...rest, mend: await showMend(mend) })))
  const offOf = await parts.read(
    'reads that are off',
    () => readsOffStatus(q),
    () => [],
  )
  const pauses = await parts.read('pauses of accounts', () => listPauses(q), [])
  const secrets = await parts.read('webhook secrets', () => secretStates(q, config.accounts), new Map())
  const accounts: AccountStatus[] = []
  for (const row of known) {
    const { account } = row
    const { submissions, unreachable, reads, demand_rps, coverage, inbox, conflicts, unreadable, completeness: sums } = summed.of(account)
    const configured = config.accounts.find(({ name }) => name === account)
    accounts.push({
      ...row,
      pause: pauses.find((each) => each.account === account) ?? null,
      submissions,
      unreachable,
      reads,
      demand_rps,
      limit_rps: configured ? config.upstream.rps : null,
      freshness: [...coverage.submissions, ...coverage.ids],
      reads_off: offOf(account),
      inbox,
      webhook_secrets: secrets.get(account) ?? [],
      conflicts,
      unreadable,
      completeness: sums && (await parts.read('completeness', () => completenessStatus(q, sums, configured, db.clock.now()), null)),
    })
  }
  const destinations = await parts.read('destinations', () => readPushStatus(q, config), [])
  const replication = await parts.read('replication', () => readReplication(q), null)
  const { firstSeq, lastSeq } = await parts.read('the change log', () => changeLogEnds(q), { firstSeq: 1, lastSeq: 0 })
  const processes = (await parts.read('processes', () => listProcesses(q), [])).map(({ seen_at: _, ...process }) => process)
  const backup = await parts.read('backups', () => backupStatus(q), null)
  const clocks = await parts.read('clocks', () => clockStatus(db, config), { apart: [], waits: [] })
  return {
    ...verdict,
    unread: parts.unread,
    needs: shown.map(({ mend, ...rest }) => ({ ...rest, mend: 'command' in mend ? { command: mend.command } : mend })),
    version,
    database: db.kind,
    counted_at: summed.countedAt,
    accounts,
    destinations,
    replication,
    change_log: { first_seq: firstSeq, last_seq: lastSeq },
    backup,
    clocks,
    processes,
    scope: COMPLETENESS_SCOPE,
    warnings: [...shown.map(({ what, mend }) => `${what}; ${mendText(mend)}`), ...notesOf({ accounts, destinations, replication })],
  }
}

/** Also of a database that was restored: it remembers the backups of before. */
async function backupStatus(q: Query): Promise<Status['backup']> {
  if (q.kind === 'postgres') return null
  const { madeAt, bytes, triedAt } = await lastBackups(q)
  return { made_at: madeAt, bytes, tried_at: triedAt }
}

/** How far this machine's clock is ahead of the others that can be seen from here. `serve` also compares the service's; its alarm tells. */
async function clockStatus(db: Db, config: StatusConfig): Promise<Status['clocks']> {
  const judged = await compareClocks(db.readNoWait)
  const wait = await retentionWait(db.readNoWait)
  const waits = [...waitsForClocks(judged, config), ...(wait === null ? [] : [withAdvice('retention_waits', waitText(wait.reason))])]
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
  return [...notes, ...completenessWarnings(a.account, a.completeness)]
}
