import type { Command } from 'commander'
import { UsageError } from '../../../base/errors.ts'
import { printable } from '../../../base/printable.ts'
import { findOutboxRows, listedStates, listOutbox, type OutboxEntry } from '../../../store/outbox/queries.ts'
import { parseCount } from '../../actions/arguments.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { ago, printableLine, until } from '../../output/text.ts'
import { type CommandContext, printJson, printTable, withStore } from './context.ts'
import { type ChoiceOptions, filterOf, withChoice } from './outbox-choice.ts'
import { addRetryAndSkip } from './outbox-settle.ts'

const MAX_LISTED = 10_000

interface ListOptions extends ChoiceOptions {
  readonly limit: string
  readonly json?: boolean
}

/** `outbox list|show|retry|skip` */
export function addOutbox(program: Command, c: CommandContext): void {
  const outbox = program.command('outbox').description('look at what is pushed to destinations, and try it again or give it up')
  withChoice(outbox.command('list').description('list changes on their way, the newest first'), listedStates)
    .option('--limit <n>', 'how many at most', '50')
    .option('--json', 'as JSON, for programs')
    .action((options: ListOptions) => list(c, options))
  outbox
    .command('show')
    .description('show all that is known of a change on its way')
    .argument('<id>', 'its message id (webhook-id), or its number in the list')
    .option('--json', 'as JSON, for programs')
    .action((id: string, options: { json?: boolean }) => show(c, id, options.json ?? false))
  addRetryAndSkip(outbox, c)
}

async function list(c: CommandContext, options: ListOptions): Promise<void> {
  const problems: string[] = []
  const filter = filterOf(c, options, listedStates, problems)
  const limit = parseCount(options.limit, '--limit', MAX_LISTED, problems)
  await withStore(c, { accounts: 'optional', prepare: false, problems }, async ({ config, db }) => {
    await refuseUnknownNames(db.read, config, filter)
    const entries = await listOutbox(db.read, filter, limit)
    if (options.json) return printJson(c, entries)
    const now = c.clock.now()
    const headings = [
      ...['number', 'destination', 'account', 'submission', 'change', 'seq', 'state', 'tries', 'queued', 'next try'],
      { heading: 'error', fit: 'below' } as const,
    ]
    const rows = entries.map((e) => [
      ...[e.outbox_id, e.destination, e.account, e.submission_id, `${e.entity}.${e.operation}`, e.seq, e.state],
      ...[e.attempts, ago(e.queued_at, now), until(e.next_try_at, now), e.error],
    ])
    printTable(c, { title: 'Changes on their way, the newest first', headings, rows }, 'No change.')
  })
}

async function show(c: CommandContext, id: string, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const found = await findOutboxRows(db.read, id)
    if (found.length === 0) throw new UsageError([`there is no change ${printableLine(id)} in the outbox`])
    if (json) return printJson(c, found)
    c.host.stdout.write(found.map(textOf).join('\n'))
  })
}

function textOf(entry: OutboxEntry): string {
  const fields = Object.entries(entry)
  const width = Math.max(...fields.map(([name]) => name.length))
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${printable(shown(value))}\n`).join('')
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return typeof value === 'object' ? JSON.stringify(value) : printableLine(String(value), 1_000)
}
