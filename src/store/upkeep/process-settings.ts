import { sql } from 'kysely'
import type { Db, Query } from '../engine/db.ts'
import type { Columns } from '../schema/tables.ts'
import { listProcesses } from './processes.ts'

/** A live process, with a fingerprint of each of its settings. */
export interface ProcessSettings {
  readonly process_id: string
  readonly role: string
  readonly settings: Readonly<Record<string, string>>
}

/** Stores the fingerprints of this process's settings, and deletes those of dead processes. */
export async function storeSettings(db: Db, settings: Readonly<Record<string, string>>): Promise<void> {
  await db.write('process-settings', async (tx) => {
    const row = { process_id: db.processId, settings: JSON.stringify(settings) }
    await tx.sql
      .insertInto('sync_process_settings')
      .values({ ...row, reload_id: null, reload_result: null })
      .onConflict((conflict) => conflict.column('process_id').doUpdateSet({ settings: row.settings }))
      .execute()
    const living = tx.sql.selectFrom('sync_processes').select('process_id')
    await tx.sql.deleteFrom('sync_process_settings').where('process_id', '<>', db.processId).where('process_id', 'not in', living).execute()
  })
}

export async function listSettings(q: Query): Promise<ProcessSettings[]> {
  const [living, rows] = await Promise.all([
    listProcesses(q),
    q.sql.selectFrom('sync_process_settings').select(['process_id', 'settings']).execute(),
  ])
  return living.flatMap(({ process_id, role }) => {
    const row = rows.find((each) => each.process_id === process_id)
    return row === undefined ? [] : [{ process_id, role, settings: JSON.parse(row.settings) as Record<string, string> }]
  })
}

export async function askReload(db: Db, reloadId: string, processIds: readonly string[]): Promise<void> {
  await db.write('reload-ask', (tx) =>
    tx.run(sql`
    update sync_process_settings set reload_id = ${reloadId}, reload_result = null where process_id in (${sql.join(processIds)})`),
  )
}

/** @returns the id of a reload that was requested of this process and isn't finished; null if there is none. */
export async function askedReload(q: Query, processId: string): Promise<string | null> {
  const row = await q.sql.selectFrom('sync_process_settings').select('reload_id').where('process_id', '=', processId).executeTakeFirst()
  return row?.reload_id ?? null
}

/**
 * Stores the result of this process's reload. Does nothing if another reload was requested in the meantime.
 * @param result JSON text.
 */
export async function finishReload(db: Db, reloadId: string, result: string): Promise<void> {
  await db.write('reload-finish', (tx) =>
    tx.run(sql`
    update sync_process_settings set reload_id = null, reload_result = ${result} where process_id = ${db.processId}
    and reload_id = ${reloadId}`),
  )
}

/** @returns the results of finished reloads, by process id. */
export async function reloadResults(q: Query, processIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const rows = await q.all(sql<Columns<'sync_process_settings', 'process_id' | 'reload_result'>>`
    select process_id, reload_result from sync_process_settings where process_id in (${sql.join(processIds)})`)
  return new Map(rows.flatMap(({ process_id, reload_result }) => (reload_result === null ? [] : [[process_id, reload_result] as const])))
}
