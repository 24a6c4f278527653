import type { Command } from 'commander'
import type { z } from 'zod'
import { UsageError } from '../../base/errors.ts'
import type { Config } from '../../config/config.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { Db } from '../../store/engine/db.ts'
import { readTextFile } from '../actions/arguments.ts'
import { type Attempt, type Attempted, attemptsOf } from '../actions/context.ts'
import { accountNamed, destinationNamed, refuseUnknownNames } from '../actions/names.ts'
import { submissionsPage } from '../actions/submissions-page.ts'
import { optionOf } from '../operations/calling.ts'
import { isDocument, isOptional, kindOf, valuesOf } from '../operations/from-text.ts'
import { shaped } from '../operations/hidden.ts'
import { showFix } from '../operations/index.ts'
import { type AnyOperation, commandOf, unattended } from '../operations/operation.ts'
import { check } from '../operations/problems.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import {
  actionContextOf,
  type CommandContext,
  type OpenStore,
  printerOf,
  printJson,
  sendingSettingsOf,
  settingsOf,
  silentLog,
  withStore,
} from './commands/context.ts'
import { exitCodes } from './exit-codes.ts'

/** Maximum of `--limit`. The command fetches as many pages as needed. */
const MOST_LISTED = 10_000
/** Maximum number of submissions that an error lists if the given text matches several. */
const MOST_NAMED = 10
const PAGE = 200

/** Placeholder for a submission id that is looked up later. */
const NIL = '00000000-0000-0000-0000-000000000000'

interface Page {
  readonly items: readonly unknown[]
  readonly next_cursor: string | null
}

/**
 * Adds a command for each operation, such as `outbox list`.
 * @param about description of the group, if the group is new.
 * @returns the group that contains the commands.
 */
export function addOperations(program: Command, c: CommandContext, about: string, operations: readonly AnyOperation[]): Command {
  const [first] = operations
  const [subject = '', isGroup] = first ? commandOf(first).split(' ') : []
  const present = program.commands.find((each) => each.name() === subject)
  const group = isGroup === undefined ? program : (present ?? program.command(subject).description(about))
  for (const op of operations) {
    const command = commandOf(op)
    // Commands of other subjects are added elsewhere.
    const isOther = command.split(' ')[0] !== subject
    if (op.withoutCommand !== undefined || command.includes(' --') || isOther) continue
    const others = operations.filter((each) => commandOf(each).startsWith(`${command} --`))
    add(group.command(command.split(' ').at(-1) ?? ''), c, op, others)
  }
  return group
}

/**
 * Adds the arguments, options and action of one command.
 * @param others operations that an option of this command selects, as in `inbox list --rejected`.
 */
function add(command: Command, c: CommandContext, op: AnyOperation, others: readonly AnyOperation[]): void {
  command.description(op.summary)
  if (op.description !== undefined) command.addHelpText('after', `\n${op.description}`)
  for (const [field, schema] of Object.entries<z.ZodType>(op.input.shape)) {
    const also = isNamed(op, field) ? " (also its first characters, or words of the insured's name)" : ''
    if (field !== op.argument) addOption(command, field, schema, also)
    else {
      const name = `${field}${kindOf(schema) === 'list' ? '...' : ''}`
      command.argument(isOptional(schema) ? `[${name}]` : `<${name}>`, `${descriptionOf(schema)}${also}`)
    }
  }
  for (const other of others) {
    command.option(flagOf(other), other.summary)
    for (const [field, schema] of Object.entries<z.ZodType>(other.input.shape))
      if (!(field in op.input.shape)) addOption(command, field, schema, ` (with ${flagOf(other)})`)
  }
  command.option('--json', 'as JSON, for programs')
  command.action(async (...given: readonly unknown[]) => {
    const [argument, options] = (op.argument === undefined ? [undefined, given[0]] : given) as [unknown, Readonly<Record<string, unknown>>]
    const [selected = op, another] = others.filter((other) => options[keyOf(flagOf(other))] === true)
    if (another !== undefined) throw new UsageError([`${flagOf(selected)} and ${flagOf(another)} cannot be combined; give one of them`])
    const fields = [op, ...others].flatMap(({ input }) => Object.entries<z.ZodType>(input.shape))
    const texts = fields.map(
      ([field, schema]) => [field, field === op.argument ? argument : options[keyOf(optionOf(field, schema))]] as const,
    )
    const present = texts.filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
    await runOperation(c, selected, [op, ...others], Object.fromEntries(present), options['json'] === true)
  })
}

function addOption(command: Command, field: string, schema: z.ZodType, when: string): void {
  const kind = kindOf(schema)
  if (field === 'cursor' || kind === 'objects') return
  const value = kind === 'record' ? ' <name=value>' : ` <${field.replaceAll('_', '-')}>`
  const option = optionOf(field, schema)
  const flags = kind === 'boolean' ? option : `${option}${value}`
  const description = `${descriptionOf(schema)}${when}`
  if (kind === 'list' || kind === 'record') command.option(flags, `${description}; may be repeated`, collected)
  else command.option(flags, description)
}

/**
 * @returns true if a field also accepts the start of an id, or words of the insured's name.
 * Only operations that read accept these texts, so that a wrong match changes nothing.
 */
function isNamed(op: AnyOperation, field: string): boolean {
  return field === 'submission_id' && op.http.startsWith('GET ')
}

/** Collects the values of a repeated option. */
function collected(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** @returns the last word of a command, such as `--rejected` for an operation that an option selects. */
function flagOf(op: AnyOperation): string {
  return commandOf(op).split(' ').at(-1) ?? ''
}

/** @returns commander's key of an option: `dryRun` for `--dry-run`. */
function keyOf(option: string): string {
  return option.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function descriptionOf(schema: z.ZodType): string {
  const { description } = schema.meta() ?? {}
  const choices =
    'options' in schema ? schema.options : 'unwrap' in schema ? (schema as z.ZodOptional<z.ZodEnum>).unwrap().options : undefined
  const listed = Array.isArray(choices) ? choices.join(', ') : ''
  return [description, listed].filter(Boolean).join(': ')
}

/**
 * @returns why the option of `field` can't be used with `op`, such as `works only with --rejected`.
 * @param ofCommand all operations of the command, first the operation that no option selects.
 */
function misplacedText(op: AnyOperation, ofCommand: readonly AnyOperation[], field: string): string {
  if (op !== ofCommand[0]) return `does not work with ${flagOf(op)}`
  const owners = ofCommand.filter(({ input }) => field in input.shape)
  return `works only with ${owners.map(flagOf).join(' or ')}`
}

async function runOperation(
  c: CommandContext,
  op: AnyOperation,
  ofCommand: readonly AnyOperation[],
  texts: Record<string, unknown>,
  asJson: boolean,
): Promise<void> {
  const nameOf = (field: string) => (field === op.argument ? field : optionOf(field, op.input.shape[field]))
  const given = { ...valuesOf(op.input, texts) }
  const problems: string[] = []
  for (const field of Object.keys(given)) {
    const schema: z.ZodType | undefined = op.input.shape[field]
    if (schema !== undefined && isDocument(schema)) given[field] = readTextFile(String(given[field]), problems, nameOf(field))
    if (schema !== undefined) continue
    // The option belongs to another operation of the same command.
    problems.push(`${nameOf(field)} ${misplacedText(op, ofCommand, field)}`)
    delete given[field]
  }
  const named = namedIn(op, given)
  const isList = 'cursor' in op.input.shape
  const most = isList ? mostOf(given, problems) : 0
  const placeOf = ([field, ...rest]: readonly PropertyKey[]) =>
    field === undefined ? commandOf(op) : [nameOf(String(field)), ...rest.filter((part) => typeof part !== 'number')].join('.')
  // If a file could not be read, don't validate the input. `problems` already has the reason.
  const isRead = Object.values(given).every((value) => value !== undefined)
  const checked = isRead ? check(op.input, given, placeOf, texts) : { problems: [] }
  if ('problems' in checked) problems.push(...checked.problems)
  const work = async ({ config, db, log }: OpenStore, attempt = attemptsOf(actionContextOf(c, db))) => {
    const input = { ...taken }
    if (named !== null) {
      const found = await submissionNamed({ config, db }, named, input['account'] as string | undefined)
      for (const field of ['account', 'submission_id'] as const) if (field in op.input.shape) input[field] = found[field]
    }
    const context = {
      ...unattended,
      ...actionContextOf(c, db),
      attempt,
      config,
      log,
      version: c.version,
      sums: db,
      reload: null,
      isTerminal: true,
      role: 'admin' as const,
      left: c.host.signal,
      nameOf,
      showFix,
      live: asJson ? null : printerOf(c),
      announce: (line: string) => void c.host.stderr.write(`${line}\n`),
    }
    const output = isList
      ? await pages(most, (part) => op.run(context, { ...input, ...part }) as Promise<Page>)
      : await op.run(context, input)
    c.exitCode = op.exit?.(output, input) ?? exitCodes.done
    if (asJson) return printJson(c, shaped(op.output, output, { isWhole: true }))
    const to = printerOf(c)
    if (op.table === undefined) return op.print?.(to, output, input)
    const [title, columns, none] = op.table
    to.rows(title, (output as { readonly items: readonly never[] }).items, columns, none)
  }
  const taken = 'value' in checked ? (checked.value as Record<string, unknown>) : {}
  const needs = typeof op.needs === 'function' ? op.needs(taken) : op.needs
  const accounts = needs === 'account' || needs === 'sending' ? 'needed' : 'optional'
  const isThere = (config: Config) => taken['destination'] !== undefined && destinationNamed(config, String(taken['destination']))
  if (needs !== undefined && needs !== 'account') {
    const config = await (needs === 'settings' ? settingsOf : sendingSettingsOf)(c, { accounts, problems, check: isThere })
    return await work({ config, db: noDatabase, log: silentLog() }, (note, attempt) => notedIfPossible(c, note, attempt))
  }
  // Check the account before a database is opened or created.
  const isKnown = (config: Config) =>
    needs === 'account' && given['account'] !== undefined && accountNamed(config, String(given['account']), '--account')
  await withStore(c, { accounts, prepare: op.mayPrepare ?? false, problems, check: isKnown }, (store) => work(store))
}

/**
 * If the submission id in `given` is a name or the start of an id, replaces this text with a placeholder id.
 * @returns the replaced text, which `submissionNamed` looks up later; null if nothing was replaced.
 */
function namedIn(op: AnyOperation, given: Record<string, unknown>): string | null {
  const { submission_id: text } = given
  if (!isNamed(op, 'submission_id') || typeof text !== 'string' || text.trim() === '' || parseUuid(text) !== null) return null
  given['submission_id'] = NIL
  return text
}

/**
 * @returns the submission whose id starts with the text, or whose insured's name contains the words of the text.
 * @throws NotFoundError if no submission matches, ConflictError with the candidates if several match.
 */
async function submissionNamed(
  { db, config }: Pick<OpenStore, 'db' | 'config'>,
  text: string,
  account: string | undefined,
): Promise<{ readonly account: string; readonly submission_id: string }> {
  await refuseUnknownNames(db.read, config, { account })
  const { items, next } = await submissionsPage(db.read, { named: text, account, order: 'name', limit: MOST_NAMED })
  const [one, ...others] = items
  const given = JSON.stringify(printableLine(text))
  if (one === undefined)
    throw new NotFoundError([
      `no submission has an id that starts with ${given}, or an insured with that name; \`submission list\` lists all`,
    ])
  if (others.length === 0) return one
  throw new ConflictError([
    `${given} matches ${next === null ? items.length : `more than ${MOST_NAMED}`} submissions; give more of the name, or an id:`,
    ...items.map((each) => `  ${each.submission_id}  ${printableLine(each.insured_name ?? 'without a name')} (account ${each.account})`),
  ])
}

/** Replaces the database in operations that need only the settings. Any access throws an error. */
const noDatabase = new Proxy({} as Db, {
  get() {
    throw new Error('this operation must do without the database')
  },
})

/** Runs work that needs no database, once. Audits the work if the database can be opened. */
async function notedIfPossible<T extends Attempted>(
  c: CommandContext,
  note: Parameters<Attempt>[0],
  attempt: () => Promise<T>,
): Promise<T> {
  let made: Promise<T> | undefined
  const once = () => {
    made ??= attempt()
    return made
  }
  try {
    const store = { accounts: 'optional', prepare: false, problems: [] } as const
    await withStore(c, store, async ({ db }) => void (await attemptsOf(actionContextOf(c, db))(note, once)))
  } catch {
    // Ignore errors of the audit. If the attempt itself failed, `once` below throws its error.
  }
  return await once()
}

/** Removes `limit` from `given`. @returns the number of items to list, 50 by default. */
function mostOf(given: Record<string, unknown>, problems: string[]): number {
  const { limit = 50 } = given
  delete given['limit']
  if (typeof limit === 'number' && limit >= 1 && limit <= MOST_LISTED) return limit
  problems.push(`--limit: ${JSON.stringify(String(limit))} is not a number from 1 to ${MOST_LISTED}`)
  return 1
}

async function pages(most: number, ask: (part: { limit: number; cursor?: string }) => Promise<Page>): Promise<Page> {
  const items: unknown[] = []
  for (let cursor: string | null | undefined; ; ) {
    const found: Page = await ask({ limit: Math.min(PAGE, most - items.length), ...(typeof cursor === 'string' && { cursor }) })
    items.push(...found.items)
    cursor = found.next_cursor
    if (cursor === null || items.length >= most) return { ...found, items }
  }
}
