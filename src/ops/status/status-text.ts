import { isIdRead, type ReadKind } from '../../model/reads.ts'
import { msFromTime } from '../../model/time.ts'
import { lateAfterMs } from '../health/verdict.ts'
import { tableOf } from '../output/columns.ts'
import { type Table, table } from '../output/table.ts'
import { ago, percent, printableLine, sizeText, when, wrapped } from '../output/text.ts'
import { notesOf, type Status } from './status.ts'
import { secretsText } from './webhook-secrets.ts'

/** What `status` prints: the verdict, what needs a person, then tables, notes, and what "complete" means. */
export function statusText(status: Status, nowMs: number, width: number): string {
  const tables = [...accountTables(status, nowMs), ...completenessTables(status, nowMs), ...otherTables(status, nowMs)]
  const { first_seq, last_seq } = status.change_log
  const log = last_seq < first_seq ? 'The change log is empty.' : `The change log holds changes ${first_seq} to ${last_seq}.`
  const unread = status.unread.map(({ part, reason }) => `${part} could not be read: ${reason}`)
  const { counted_at } = status
  const counted = counted_at === null ? [] : [`the counts are those of ${when(counted_at, nowMs)}`]
  const notes = [...unread, ...counted, ...notesOf(status)].map((note) => wrapped(`warning: ${printableLine(note, 500)}`, width))
  return [
    wrapped(printableLine(status.sentence, 500), width),
    status.needs.map((need) => needText(need, nowMs, width)).join(''),
    ...tables.map((each) => table({ ...each, width })),
    `${log}\n${copiesText(status)}${backupText(status, nowMs)}`,
    notes.join(''),
    wrapped(status.scope, width),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

/** On how many servers a delivery lies; one that is alone is a plain fact, told by `doctor`. */
function copiesText({ replication }: Status): string {
  return replication !== null && replication.servers > 1 ? `An acknowledged delivery lies on ${replication.servers} servers.\n` : ''
}

/** The last backup, and whether one could be restored. */
export function backupText({ backup }: Pick<Status, 'backup'>, nowMs: number): string {
  if (backup === null) return ''
  const { made_at, bytes, tried_at } = backup
  if (made_at === null) return 'No backup was made yet.\n'
  const size = bytes === null ? '' : ` (${sizeText(bytes)})`
  const tried = tried_at === null ? 'none was restored on trial' : `the last one restored on trial ${when(tried_at, nowMs)}`
  return `Last backup ${when(made_at, nowMs)}${size}; ${tried}.\n`
}

function needText({ what, since, mend }: Status['needs'][number], nowMs: number, width: number): string {
  const age = since === null ? '' : ` (for ${ago(since, nowMs)})`
  // Not wrapped: it is there to be copied.
  const way = 'command' in mend ? `    ${mend.command}\n` : `    see ${mend.runbook}\n`
  return `${wrapped(`• ${what}${age}`, width, '', '  ')}${way}`
}

type Account = Status['accounts'][number]

/** Rows of each account, with its name. */
function ofEach<T extends object>(accounts: readonly Account[], rowsOf: (account: Account) => readonly T[]) {
  return accounts.flatMap((each) => rowsOf(each).map((row) => ({ account: each.account, ...row })))
}

function accountTables({ accounts }: Status, nowMs: number): Table[] {
  const reads = ofEach(accounts, (a) => a.freshness)
  const isOff = ({ account, read }: (typeof reads)[number]) =>
    accounts.some((a) => a.account === account && a.reads_off.some((off) => off.read === read))
  const flat = accounts.map(({ reads: { overdue, oldest_due_at, failing }, ...a }) => {
    // Some reads are always just due: the verdict knows when that is late, and only then it is told.
    const isLate = oldest_due_at !== null && nowMs - msFromTime(oldest_due_at) > lateAfterMs.read
    return { ...a, ...a.inbox, failing, ...(isLate ? { overdue, oldest_due_at } : { overdue: null, oldest_due_at: null }) }
  })
  return [
    tableOf(
      'Accounts',
      flat,
      [
        ...(['account', 'state', 'submissions', 'unreachable'] as const),
        ['reads overdue', (a) => a.overdue],
        'oldest_due_at',
        ['reads failing', (a) => a.failing],
      ],
      nowMs,
    ),
    tableOf(
      'Requests to the service, a second',
      flat,
      [
        'account',
        ['needed', (a) => a.demand_rps],
        ['limit', (a) => a.limit_rps],
        ['used', (a) => (a.limit_rps === null ? null : `${Math.round((a.demand_rps / a.limit_rps) * 100)} %`)],
      ],
      nowMs,
    ),
    tableOf(
      'Freshness: when submissions were last read',
      reads.filter(({ read, total }) => total > 0 || !isIdRead(read as ReadKind)),
      ['account', 'read', 'oldest_at', 'median_at', ['never read', (f) => f.never]],
      nowMs,
    ),
    tableOf(
      'First fill: submissions read so far',
      reads.filter((f) => f.never > 0 && !isOff(f)),
      ['account', 'read', ['so far', (f) => `${f.total - f.never} of ${f.total}`]],
      nowMs,
    ),
    tableOf(
      'Reads that are off',
      ofEach(accounts, (a) => a.reads_off),
      ['account', 'read', ['by', (off) => off.cause], 'since', 'reason'],
      nowMs,
    ),
    tableOf('Deliveries', flat, ['account', 'ready', 'done', 'aside', 'dead'], nowMs),
  ]
}

/** How complete each account is, and by what means. */
function completenessTables({ accounts }: Status, nowMs: number): Table[] {
  const known = ofEach(accounts, ({ completeness: c }) => (c === null ? [] : [{ ...c, ...c.known_by, day: c.webhook_loss_day }]))
  return [
    tableOf(
      'Submissions verified by reconciling',
      known,
      ['account', ['verified', (c) => c.proven], ['never', (c) => c.unproven], 'oldest_proof_at'],
      nowMs,
    ),
    tableOf(
      'How events and messages were found first',
      known,
      [
        ...(['account', 'webhook', 'poll', 'backfill', 'reconcile'] as const),
        ['lost webhooks', (c) => c.lost_webhooks],
        ['share', (c) => (c.webhook_loss_ratio === null ? null : percent(c.webhook_loss_ratio))],
        ['in 24 h', ({ day }) => (day.expected === 0 ? null : percent(day.lost / day.expected))],
      ],
      nowMs,
    ),
    tableOf(
      'Paths probed for submissions',
      ofEach(accounts, ({ completeness: c }) => c?.discovery ?? []),
      ['account', ['path', (p) => p.path], 'paths', 'failing', 'oldest_answer_at', 'found'],
      nowMs,
    ),
  ]
}

function otherTables({ accounts, destinations, change_log, processes }: Status, nowMs: number): Table[] {
  // One alone needs no watching; of two, one is there to go.
  const withSeveral = accounts.filter(({ webhook_secrets }) => webhook_secrets.length > 1)
  return [
    tableOf(
      'Webhook secrets: the last good signature of each',
      withSeveral,
      ['account', ['secrets', (a) => secretsText(a.webhook_secrets, nowMs)]],
      nowMs,
    ),
    tableOf(
      'Destinations',
      destinations,
      [
        ...(['destination', 'state', 'queued', 'oldest_queued_at'] as const),
        ['last delivery', (d) => when(d.last_success_at, nowMs)],
        ['success rate', (d) => (d.last_day.success_rate === null ? null : percent(d.last_day.success_rate))],
        ['not queued', (d) => (d.cursor === null ? null : change_log.last_seq - d.cursor)],
        ...(['unmapped_lanes', 'held_lanes', 'dead', 'unknown', 'filtered'] as const),
      ],
      nowMs,
    ),
    tableOf('Processes', processes, ['process_id', 'role', 'version', 'started_at'], nowMs),
  ]
}
