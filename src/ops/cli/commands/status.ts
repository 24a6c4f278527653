import type { Command } from 'commander'
import { table } from '../../output/table.ts'
import { ago, printableLine } from '../../output/text.ts'
import { completenessText } from '../../status/completeness.ts'
import { readStatus, type Status } from '../../status/status.ts'
import { secretsText } from '../../status/webhook-secrets.ts'
import { type CommandContext, printJson, withStore } from './context.ts'

/** `status [--json]` */
export function addStatus(program: Command, c: CommandContext): void {
  program
    .command('status')
    .description('show how the mirror is: accounts, reads, freshness, inbox, change log, destinations')
    .option('--json', 'as JSON, for programs')
    .action(async (options: { json?: boolean }) => {
      await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ config, db }) => {
        const status = await readStatus(db, c.version, config)
        if (options.json) printJson(c, status)
        else c.host.stdout.write(textOf(status, c.clock.now()))
      })
    })
}

function textOf(status: Status, nowMs: number): string {
  const { accounts, change_log, destinations, processes, warnings } = status
  const parts = [
    table(
      ['account', 'state', 'submissions', 'unreachable', 'overdue', 'due since', 'failing', 'requests/s', 'limit', 'used'],
      accounts.map((a) => [
        a.account,
        a.state,
        a.submissions,
        a.unreachable,
        a.reads.overdue,
        ago(a.reads.oldest_due_at, nowMs),
        a.reads.failing,
        a.demand_rps,
        a.limit_rps,
        a.limit_rps === null ? null : `${Math.round((a.demand_rps / a.limit_rps) * 100)} %`,
      ]),
    ),
    table(
      ['account', 'read', 'oldest', 'median', 'never read'],
      accounts.flatMap((a) => a.freshness.map((f) => [a.account, f.read, ago(f.oldest_at, nowMs), ago(f.median_at, nowMs), f.never])),
    ),
    table(
      ['account', 'ready', 'done', 'aside', 'dead', 'lost events', 'lost messages', 'conflicts', 'unreadable'],
      accounts.map((a) => [
        a.account,
        a.inbox.ready,
        a.inbox.done,
        a.inbox.aside,
        a.inbox.dead,
        a.lost_webhooks['market_events'] ?? 0,
        a.lost_webhooks['thread_messages'] ?? 0,
        a.conflicts,
        a.unreadable,
      ]),
    ),
    ...completenessText(accounts, nowMs),
    // One alone needs no watching; of two, one is there to go.
    ...(accounts.some((a) => a.webhook_secrets.length > 1) ? [secretTable(status, nowMs)] : []),
    ...(destinations.length === 0 ? [] : [destinationTable(status, nowMs)]),
    `change log ${change_log.first_seq} to ${change_log.last_seq}\n`,
    processes.length === 0
      ? 'no process is running\n'
      : table(
          ['process', 'role', 'version', 'running for'],
          processes.map((p) => [p.process_id, p.role, p.version, ago(p.started_at, nowMs)]),
        ),
  ]
  if (warnings.length > 0) parts.push(warnings.map((warning) => `warning: ${printableLine(warning, 500)}\n`).join(''))
  return parts.join('\n')
}

function secretTable({ accounts }: Status, nowMs: number): string {
  return table(
    ['account', 'last good signature by webhook secret'],
    accounts.map((a) => [a.account, secretsText(a.webhook_secrets, nowMs)]),
  )
}

function destinationTable({ destinations, change_log }: Status, nowMs: number): string {
  return table(
    ['destination', 'state', 'queued', 'oldest', 'not queued yet', 'unmapped', 'held', 'dead', 'unknown'],
    destinations.map((d) => [
      ...[d.destination, d.state, d.queued, ago(d.oldest_queued_at, nowMs), d.cursor === null ? null : change_log.last_seq - d.cursor],
      ...[d.unmapped_lanes, d.held_lanes, d.dead, d.unknown],
    ]),
  )
}
