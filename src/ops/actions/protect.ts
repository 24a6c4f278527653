import { PermanentError } from '../../base/errors.ts'
import { entityNamed } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import { parsedJson } from '../../model/json.ts'
import type { Db } from '../../store/engine/db.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { lastProtect, protectedNames } from '../../store/upkeep/protect.ts'
import { NotFoundError } from '../output/refusals.ts'
import { protectStored, settingsText } from '../protect/protect-step.ts'
import type { ActionContext } from './context.ts'

/** How stored tax ids are protected, and how far older rows have been brought to it. */
export interface ProtectStatus {
  readonly mode: 'drop' | 'encrypt' | 'keep'
  /** The id of the key that encrypts. */
  readonly key_id: string | null
  /** Whether every stored row has the form that the settings ask for. */
  readonly done: boolean
  readonly tables_done: number
  readonly tables: number
  readonly rows_rewritten: number
}

export async function protectStatus(db: Db): Promise<ProtectStatus> {
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
export async function rotate(a: ActionContext, onTable: (name: string) => void): Promise<{ readonly rewritten: number } | 'held'> {
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
export async function showProtected(a: ActionContext, account: string, table: string, key: string): Promise<Row> {
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
