import { isIdRead, type ReadKind } from '../../model/reads.ts'
import { msFromTime } from '../../model/time.ts'
import { lateAfterMs } from '../health/verdict.ts'
import { tableOf } from '../output/columns.ts'
import { type Table, table } from '../output/table.ts'
import { percent, printableLine, sizeText, when, wrapped } from '../output/text.ts'
import { ofEach, readsTable } from './coverage.ts'
import { notesOf, type Status } from './status.ts'
import { secretsText } from './webhook-secrets.ts'

/** @returns the output of `status`: verdict, issues, tables, notes, and which submissions the mirror has. */
export function statusText(status: Status, nowMs: number, width: number): string {
  const tables = [...accountTables(status, nowMs), ...completenessTables(status, nowMs), ...otherTables(status, nowMs)]
  const { first_seq, last_seq } = status.change_log
  const log = last_seq < first_seq ? 'The change log is empty.' : `The change log holds changes ${first_seq} to ${last_seq}.`
  const unread = status.unread.map(({ part, reason }) => `${part} could not be read: ${reason}`)
  const { counted_at } = status
  const counted = counted_at === null ? [] : [`the counts were made ${when(counted_at, nowMs)}`]
  const notes = [...unread, ...counted, ...notesOf(status)].map((note) => wrapped(`warning: ${printableLine(note, 500)}`, width))
  return [
    wrapped(printableLine(status.sentence, 500), width),
    status.issues.map((issue) => issueText(issue, nowMs, width)).join(''),
    ...tables.map((each) => table({ ...each, width })),
    `${log}\n${copiesText(status)}${backupText(status, nowMs)}`,
    notes.join(''),
    wrapped(status.scope, width),
  ]
    .filter((part) => part !== '')
    .join('\n')
}

/** @returns a line with the number of servers that store an acknowledged delivery; no line for a single server. */
function copiesText({ replication }: Status): string {
  return replication !== null && replication.servers > 1 ? `An acknowledged delivery is stored on ${replication.servers} servers.\n` : ''
}

export function backupText({ backup }: Pick<Status, 'backup'>, nowMs: number): string {
  if (backup === null) return ''
  const { made_at, bytes, tried_at } = backup
  if (made_at === null) return 'There is no backup yet.\n'
  const size = bytes === null ? '' : ` (${sizeText(bytes)})`
  const tried = tried_at === null ? 'no backup was test-restored' : `last test restore ${when(tried_at, nowMs)}`
  return `Last backup ${when(made_at, nowMs)}${size}; ${tried}.\n`
}

function issueText({ what, since, fix }: Status['issues'][number], nowMs: number, width: number): string {
  const age = since === null ? '' : ` (began ${when(since, nowMs)})`
  // Don't wrap the command, because people copy it.
  const way = 'command' in fix ? `    ${fix.command}\n` : `    see ${fix.runbook}\n`
  return `${wrapped(`• ${what}${age}`, width, '', '  ')}${way}`
}

function accountTables({ accounts }: Status, nowMs: number): Table[] {
  const flat = accounts.map(({ reads: { overdue, oldest_due_at, failing }, ...a }) => {
    // Some reads are always due for a moment. Show due reads only if the verdict counts them as late.
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
      'Requests per second to the service',
      flat,
      [
        'account',
        ['needed', (a) => a.demand_rps],
        ['limit', (a) => a.limit_rps],
        ['load', (a) => (a.limit_rps === null ? null : percent(a.demand_rps / a.limit_rps))],
      ],
      nowMs,
    ),
    readsTable(
      accounts.map(({ account, coverage }) => ({
        account,
        reads: coverage.filter(({ read, total }) => total > 0 || !isIdRead(read as ReadKind)),
      })),
      nowMs,
    ),
    tableOf('Deliveries', flat, ['account', 'ready', 'done', 'aside', 'dead'], nowMs),
  ]
}

function completenessTables({ accounts }: Status, nowMs: number): Table[] {
  const known = ofEach(accounts, ({ completeness: c }) => (c === null ? [] : [c]))
  return [
    tableOf(
      'Reconciled submissions',
      known,
      ['account', ['reconciled', (c) => c.reconciled], ['never', (c) => Math.max(0, c.submissions - c.reconciled)], 'oldest_reconciled_at'],
      nowMs,
    ),
    tableOf(
      'How events and messages were first found',
      known,
      [
        'account',
        ['webhook', (c) => c.known_by_webhook],
        ['poll', (c) => c.known_by_poll],
        ['backfill', (c) => c.known_by_backfill],
        ['reconcile', (c) => c.known_by_reconcile],
        ['lost webhooks', (c) => c.lost_webhooks],
        ['lost share', (c) => (c.webhook_loss_ratio === null ? null : percent(c.webhook_loss_ratio))],
        ['lost share in 24 h', ({ webhook_loss_day: day }) => (day.expected === 0 ? null : percent(day.lost / day.expected))],
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
  // Show only accounts with several secrets. In such an account, a rotation is in progress.
  const withSeveral = accounts.filter(({ webhook_secrets }) => webhook_secrets.length > 1)
  return [
    tableOf(
      'Webhook secrets: last valid signature',
      withSeveral,
      ['account', ['secrets', (a) => secretsText(a.webhook_secrets, nowMs)]],
      nowMs,
    ),
    tableOf(
      'Destinations',
      destinations,
      [
        'destination',
        ['state', (d) => d.state ?? 'not started'],
        ...(['queued', 'oldest_queued_at'] as const),
        ['last delivery', (d) => when(d.last_success_at, nowMs)],
        ['success rate', (d) => (d.last_day.success_rate === null ? null : percent(d.last_day.success_rate))],
        ['not queued yet', (d) => (d.cursor === null ? null : change_log.last_seq - d.cursor)],
        ...(['unmapped_streams', 'held_streams', 'dead', 'unknown', 'filtered'] as const),
      ],
      nowMs,
    ),
    tableOf('Processes', processes, ['process_id', 'role', 'version', 'started_at'], nowMs),
  ]
}
