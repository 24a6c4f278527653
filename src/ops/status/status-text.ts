import { isIdRead, type ReadKind } from '../../model/reads.ts'
import { type Table, table } from '../output/table.ts'
import { ago, printableLine, wrapped } from '../output/text.ts'
import { completenessTables } from './completeness.ts'
import { notesOf, type Status } from './status.ts'
import { secretsText } from './webhook-secrets.ts'

/** What `status` prints: the verdict, what needs a person, then tables, notes, and what "complete" means. */
export function statusText(status: Status, nowMs: number, width: number): string {
  const tables = [...accountTables(status, nowMs), ...completenessTables(status.accounts, nowMs), ...otherTables(status, nowMs)]
  const { first_seq, last_seq } = status.change_log
  const log = last_seq < first_seq ? 'The change log is empty.' : `The change log holds changes ${first_seq} to ${last_seq}.`
  const notes = notesOf(status).map((note) => wrapped(`warning: ${printableLine(note, 500)}`, width))
  return [
    wrapped(printableLine(status.sentence, 500), width),
    status.needs.map((need) => needText(need, nowMs, width)).join(''),
    ...tables.map((each) => table({ ...each, width })),
    `${log}\n${copiesText(status)}`,
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

function needText({ what, since, mend }: Status['needs'][number], nowMs: number, width: number): string {
  const age = since === null ? '' : ` (for ${ago(since, nowMs)})`
  // Not wrapped: it is there to be copied.
  const way = 'command' in mend ? `    ${mend.command}\n` : `    see ${mend.runbook}\n`
  return `${wrapped(`• ${what}${age}`, width, '', '  ')}${way}`
}

function accountTables({ accounts }: Status, nowMs: number): Table[] {
  return [
    {
      title: 'Accounts',
      headings: ['account', 'state', 'submissions', 'unreachable', 'overdue', 'due since', 'failing'],
      rows: accounts.map((a) => [
        ...[a.account, a.state, a.submissions, a.unreachable],
        ...[a.reads.overdue, ago(a.reads.oldest_due_at, nowMs), a.reads.failing],
      ]),
    },
    {
      title: 'Requests to the service, a second',
      headings: ['account', 'needed', 'limit', 'used'],
      rows: accounts.map((a) => [
        ...[a.account, a.demand_rps, a.limit_rps],
        a.limit_rps === null ? null : `${Math.round((a.demand_rps / a.limit_rps) * 100)} %`,
      ]),
    },
    {
      title: 'Freshness: how long ago submissions were read',
      headings: ['account', 'read', 'oldest', 'median', 'never read'],
      rows: accounts.flatMap((a) =>
        a.freshness
          .filter(({ read, total }) => total > 0 || !isIdRead(read as ReadKind))
          .map((f) => [a.account, f.read, ago(f.oldest_at, nowMs), ago(f.median_at, nowMs), f.never]),
      ),
    },
    {
      title: 'First fill: submissions read so far',
      headings: ['account', 'read', 'so far'],
      rows: accounts.flatMap((a) =>
        a.freshness
          .filter(({ read, never }) => never > 0 && !a.reads_off.some((off) => off.read === read))
          .map((f) => [a.account, f.read, `${f.total - f.never} of ${f.total}`]),
      ),
    },
    {
      title: 'Reads that are off',
      headings: ['account', 'read', 'by', 'for', 'why'],
      rows: accounts.flatMap((a) => a.reads_off.map((off) => [a.account, off.read, off.cause, ago(off.since, nowMs), off.reason])),
    },
    {
      title: 'Deliveries',
      headings: ['account', 'ready', 'done', 'aside', 'dead', 'lost events', 'lost messages'],
      rows: accounts.map((a) => [
        ...[a.account, a.inbox.ready, a.inbox.done, a.inbox.aside, a.inbox.dead],
        ...[a.lost_webhooks['market_events'] ?? 0, a.lost_webhooks['thread_messages'] ?? 0],
      ]),
    },
  ]
}

function otherTables({ accounts, destinations, change_log, processes }: Status, nowMs: number): Table[] {
  return [
    {
      title: 'Webhook secrets: the last good signature of each',
      headings: ['account', 'secrets'],
      // One alone needs no watching; of two, one is there to go.
      rows: accounts
        .filter(({ webhook_secrets }) => webhook_secrets.length > 1)
        .map((a) => [a.account, secretsText(a.webhook_secrets, nowMs)]),
    },
    {
      title: 'Destinations',
      headings: ['destination', 'state', 'queued', 'oldest', 'not queued', 'unmapped', 'held', 'dead', 'unknown'],
      rows: destinations.map((d) => [
        ...[d.destination, d.state, d.queued, ago(d.oldest_queued_at, nowMs), d.cursor === null ? null : change_log.last_seq - d.cursor],
        ...[d.unmapped_lanes, d.held_lanes, d.dead, d.unknown],
      ]),
    },
    {
      title: 'Processes',
      headings: ['process', 'role', 'version', 'running for'],
      rows: processes.map((p) => [p.process_id, p.role, p.version, ago(p.started_at, nowMs)]),
    },
  ]
}
