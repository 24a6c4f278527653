import type { Command } from 'commander'
import { PermanentError, UsageError } from '../../../base/errors.ts'
import type { Config } from '../../../config/config.ts'
import { entityNamed } from '../../../model/entities.ts'
import type { Entity, Row } from '../../../model/entity.ts'
import { parsedJson } from '../../../model/json.ts'
import type { Db } from '../../../store/engine/db.ts'
import { auditAction } from '../../../store/operators/actions.ts'
import { lastProtect, protectedNames } from '../../../store/upkeep/protect.ts'
import type { ActionContext } from '../../actions/context.ts'
import { NotFoundError } from '../../output/refusals.ts'
import { protectStored, settingsText } from '../../protect/protect-step.ts'
import { exitCodes } from '../exit-codes.ts'
import { accountOf, actionContextOf, type CommandContext, printJson, withStore } from './context.ts'

/** `protect status|rotate|show` */
export function addProtect(program: Command, c: CommandContext): void {
  const protect = program.command('protect').description('see how stored tax ids are protected, encrypt them anew, read one')
  protect
    .command('status')
    .description('how tax ids are stored, and how far older rows have been brought to it')
    .option('--json', 'as JSON, for programs')
    .action((options: { json?: boolean }) => status(c, options.json ?? false))
  protect
    .command('rotate')
    .description('encrypt every stored tax id with the first of PROTECT_KEYS; the others can then be removed')
    .action(() => rotateNow(c))
  protect
    .command('show')
    .description('print one row with its tax ids in plain text; who asked is noted in operator_actions')
    .argument('<table>', 'of service data')
    .argument('<key>', 'after the account: a JSON array as in changes.entity_id, or its only value')
    .option('--account <name>', 'the account of the row; the default account when left out')
    .action((table: string, key: string, options: { account?: string }) => show(c, table, key, options.account))
}

async function status(c: CommandContext, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const now = await protectStatus(db)
    if (json) return printJson(c, now)
    const how = { drop: 'are not stored', encrypt: `are encrypted with the key ${now.key_id}`, keep: 'are stored in plain text' }[now.mode]
    const rest = now.done
      ? 'every stored row is in this form'
      : `${now.tables_done} of ${now.tables} tables are in this form; a running \`serve\` does the rest, or \`submission-mirror protect rotate\` now`
    c.host.stdout.write(`tax ids ${how} (PROTECT=${now.mode}); ${rest}; ${now.rows_rewritten} rows were rewritten\n`)
  })
}

async function rotateNow(c: CommandContext): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const done = await rotate(actionContextOf(c, db), (table) => void c.host.stderr.write(`${table} done\n`))
    if (done === 'held') {
      c.host.stderr.write('a running `serve` is doing it; `submission-mirror protect status` says how far it is\n')
      c.exitCode = exitCodes.busy
      return
    }
    c.host.stdout.write(`${done.rewritten} rows rewritten; every stored row is in the form that PROTECT asks for\n`)
  })
}

async function show(c: CommandContext, table: string, key: string, named: string | undefined): Promise<void> {
  const check = (config: Config) => {
    if (config.protect.keys.length === 0) throw new UsageError(['protect show: set PROTECT_KEYS, without which nothing can be decrypted'])
    return accountOf(config, named)
  }
  await withStore(c, { accounts: 'needed', prepare: false, problems: [], check }, async ({ config, db }) => {
    printJson(c, await showProtected(actionContextOf(c, db), accountOf(config, named).name, table, key))
  })
}

/** How stored tax ids are protected, and how far older rows have been brought to it. */
async function protectStatus(db: Db) {
  const { mode, keyId } = db.protection
  const last = await lastProtect(db.read)
  const isOfNow = last !== null && last.settings === settingsText(db.protection)
  return {
    mode,
    key_id: keyId,
    done: isOfNow && last.endedAt !== null,
    tables_done: isOfNow ? last.progress.table : 0,
    tables: protectedNames.length,
    rows_rewritten: isOfNow ? last.progress.rewritten : 0,
  }
}

/**
 * Brings all stored rows to what `PROTECT` and the first of `PROTECT_KEYS` say, now.
 * @returns how many rows were rewritten; `held` while another process does it.
 */
async function rotate(a: ActionContext, onTable: (name: string) => void): Promise<{ readonly rewritten: number } | 'held'> {
  const { mode, keyId } = a.db.protection
  const { result } = await auditAction(
    a.db,
    { who: a.who, action: 'protect.rotate', target: null, detail: { mode, key: keyId } },
    async () => {
      const result = await protectStored(a, a.signal, ({ table }) => onTable(protectedNames[table - 1] ?? ''))
      if (result === 'stopped') a.signal.throwIfAborted()
      const rewritten = typeof result === 'object' ? result.rewritten : 0
      return { result: result === 'held' ? result : { rewritten }, detail: { rewritten }, failed: result === 'held' }
    },
  )
  return result
}

/**
 * Reads one row with its tax ids in plain text. Who asked is noted before.
 * @param key the key after `account`: a JSON array as in `changes.entity_id`, or its only value.
 * @throws NotFoundError when there is no such table or row.
 */
async function showProtected(a: ActionContext, account: string, table: string, key: string): Promise<Row> {
  const entity = entityNamed(table)
  if (entity === null) throw new NotFoundError([`there is no table ${table} of service data; migrations/README.md lists them`])
  const wanted = keyRow(entity, account, key)
  const { row } = await auditAction(a.db, { who: a.who, action: 'protect.show', target: account, detail: { table, key } }, async () => {
    const [found] = await a.db.read.selectMany(entity, [wanted])
    if (found === undefined) throw new NotFoundError([`there is no row ${key} in ${table} of account ${account}`])
    return { row: a.db.protection.revealRow(entity, found), detail: {} }
  })
  return row
}

function keyRow(entity: Entity, account: string, key: string): Row {
  const columns = entity.key.slice(1)
  const given = key.startsWith('[') ? parsedJson(key) : [key]
  if (!Array.isArray(given) || given.length !== columns.length) {
    throw new PermanentError(`the key of ${entity.table} is a JSON array of ${columns.join(', ')}, as in changes.entity_id`)
  }
  return { account, ...Object.fromEntries(columns.map((column, position) => [column, given[position]])) }
}
