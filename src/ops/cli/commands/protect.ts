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
import { accountNamed } from '../../actions/names.ts'
import { NotFoundError } from '../../output/refusals.ts'
import { protectStored, settingsText } from '../../protect/protect-step.ts'
import { exitCodes } from '../exit-codes.ts'
import { actionContextOf, type CommandContext, printJson, withStore } from './context.ts'

/** Adds the commands `protect status|rotate|show`. */
export function addProtect(program: Command, c: CommandContext): void {
  const protect = program.command('protect').description('show how tax ids are protected, re-encrypt them, or read one')
  protect
    .command('status')
    .description('show how tax ids are stored, and the progress of converting older rows')
    .option('--json', 'as JSON, for programs')
    .action((options: { json?: boolean }) => status(c, options.json ?? false))
  protect
    .command('rotate')
    .description('re-encrypt every tax id with the first key of PROTECT_KEYS; afterwards you can remove the other keys')
    .action(() => rotateNow(c))
  protect
    .command('show')
    .description('print one row with its tax ids in plain text; operator_actions records it')
    .argument('<table>', 'a table of service data')
    .argument('<key>', 'the key without the account: the JSON array in changes.entity_id, or its value if it has only one')
    .option('--account <name>', 'the account of the row (default: the default account)')
    .action((table: string, key: string, options: { account?: string }) => show(c, table, key, options.account))
}

async function status(c: CommandContext, json: boolean): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const now = await protectStatus(db)
    if (json) return printJson(c, now)
    const how = { drop: 'are not stored', encrypt: `are encrypted with the key ${now.key_id}`, keep: 'are stored in plain text' }[now.mode]
    const rest = now.done
      ? 'all stored rows have this form'
      : `${now.tables_done} of ${now.tables} tables have this form; a running \`serve\` converts the rest, or run \`submission-mirror protect rotate\` now`
    c.host.stdout.write(`tax ids ${how} (PROTECT=${now.mode}); ${rest}; ${now.rows_rewritten} rows were rewritten\n`)
  })
}

async function rotateNow(c: CommandContext): Promise<void> {
  await withStore(c, { accounts: 'optional', prepare: false, problems: [] }, async ({ db }) => {
    const done = await rotate(actionContextOf(c, db), (table) => void c.host.stderr.write(`${table} done\n`))
    if (done === 'held') {
      c.host.stderr.write('a running `serve` is converting the rows; `submission-mirror protect status` shows its progress\n')
      c.exitCode = exitCodes.busy
      return
    }
    c.host.stdout.write(`${done.rewritten} rows rewritten; all stored rows match PROTECT\n`)
  })
}

async function show(c: CommandContext, table: string, key: string, named: string | undefined): Promise<void> {
  const check = (config: Config) => {
    if (config.protect.keys.length === 0) throw new UsageError(['protect show: set PROTECT_KEYS to decrypt tax ids'])
    return accountNamed(config, named, '--account')
  }
  await withStore(c, { accounts: 'needed', prepare: false, problems: [], check }, async ({ config, db }) => {
    printJson(c, await showProtected(actionContextOf(c, db), accountNamed(config, named, '--account').name, table, key))
  })
}

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
 * Converts stored rows to the mode of `PROTECT` and the first of `PROTECT_KEYS`.
 * @returns the number of converted rows, or `held` if another process is converting the rows.
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
 * Reads one row with its tax ids in plain text. Audits the access first.
 * @param key key without `account`: a JSON array as in `changes.entity_id`, or a single value.
 * @throws NotFoundError if the table or the row doesn't exist.
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
