import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { BusyError, UsageError } from '../../../src/base/errors.ts'
import { copiedTables } from '../../../src/store/backup/copied-tables.ts'
import { copyDatabase } from '../../../src/store/backup/copy.ts'
import { isUnfinishedCopy } from '../../../src/store/backup/copy-progress.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import { infoOf } from '../../../src/store/changes/log-info.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { recordHeartbeat, removeProcess } from '../../../src/store/upkeep/processes.ts'
import { postgresDatabase as postgres, sqliteDatabase as sqlite, type TestDatabase } from '../../tools/databases.ts'
import { interrupted } from '../../tools/meddled.ts'
import { applyAll, changesOf, mirrorOf } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const never = new AbortController().signal
const SUBMISSION = uuid(9, 5)

async function opened(database: TestDatabase) {
  const place = await closedAtEnd(database.open())
  await checkLogEpoch(place.db)
  return place
}

/** A mirror with rows in most tables, and waiting deliveries with binary bodies. */
async function filled(database: TestDatabase, events = 3) {
  const place = await opened(database)
  await fillScene(place.db)
  await applyAll(
    place.db,
    Array.from({ length: events }, (_, n) =>
      observedEvent('acme', SUBMISSION, wireEvent(n, { odd: { b: [1, 'two', null], a: '\u0000' } })),
    ),
  )
  await receive(place.db, 'm1', 'm2')
  return place
}

async function receive(db: Db, ...ids: string[]): Promise<void> {
  const delivery = { account: 'acme', receivedAt: '2026-01-05T12:00:00.000000Z', headers: { 'svix-id': 'é' }, secret: 1 }
  await new InboxAppender(db).append(ids.map((deliveryId) => ({ ...delivery, deliveryId, body: Buffer.from([0, 255, 10, 34]) })))
}

function copied(source: Db, target: Db, signal = never, onTable = () => {}) {
  return copyDatabase({ source, target, signal, onTable })
}

const epochOf = async (db: Db) => (await infoOf(db.read)).log_epoch

async function inboxOf(db: Db): Promise<string[]> {
  const rows = await db.read.sql.selectFrom('sync_inbox').select(['inbox_id', 'delivery_id', 'body']).orderBy('inbox_id').execute()
  return rows.map((row) => `${row.inbox_id} ${row.delivery_id} ${row.body?.toString('hex')}`)
}

describe.each([
  { from: sqlite, to: postgres },
  { from: postgres, to: sqlite },
])('a copy from $from.name to $to.name', ({ from, to }) => {
  it('contains every table, and continues where the mirror was', async () => {
    const [source, target] = [await filled(from), await opened(to)]
    const [epoch, mirror, changes] = [await epochOf(source.db), await mirrorOf(source.db), await changesOf(source.db)]
    const { isComplete, rows } = await copied(source.db, target.db)
    expect(isComplete).toBe(true)
    expect(rows).toMatchObject({ changes: changes.length, sync_inbox: 2, sync_destinations: 1, submissions: 3 })
    expect(await mirrorOf(target.db)).toEqual(mirror)
    expect(await changesOf(target.db)).toEqual(changes)
    expect(await inboxOf(target.db)).toEqual(['1 m1 00ff0a22', '2 m2 00ff0a22'])

    expect(await epochOf(target.db)).toBe(epoch)
    expect(await checkLogEpoch(target.db)).toBeNull()
    await applyAll(target.db, [observedEvent('acme', SUBMISSION, wireEvent(90))])
    expect((await changesOf(target.db, changes.length))[0]?.seq).toBe(changes.length + 1)
    await receive(target.db, 'm3')
    expect((await inboxOf(target.db)).at(-1)).toMatch(/^3 m3 /)
    // The source begins a new log epoch if it is served again.
    expect(await checkLogEpoch(source.db)).toMatchObject({ reason: 'copy' })
  })

  it('continues after an interruption, with later changes', async () => {
    const [source, target] = [await filled(from), await opened(to)]
    const stop = new AbortController()
    await expect(copied(source.db, target.db, stop.signal, () => stop.abort())).rejects.toThrow()
    expect(await isUnfinishedCopy(target.db.read)).toBe(true)
    await source.db.write('test', (tx) => tx.sql.updateTable('lanes').set({ next_step: 'answer' }).execute())
    expect((await copied(source.db, target.db)).isComplete).toBe(true)
    expect(await mirrorOf(target.db)).toEqual(await mirrorOf(source.db))
    expect(await isUnfinishedCopy(target.db.read)).toBe(false)
  })

  it('is incomplete while deliveries arrive, and contains them when it is run again', async () => {
    const [source, target] = [await filled(from), await opened(to)]
    await recordHeartbeat(source.db, { id: 'one', role: 'receive', version: '0.1.0' })
    expect((await copied(source.db, target.db)).isComplete).toBe(false)
    await receive(source.db, 'late')
    await removeProcess(source.db, 'one')
    expect((await copied(source.db, target.db)).isComplete).toBe(true)
    expect(await inboxOf(target.db)).toEqual(await inboxOf(source.db))
  })

  it('can be repeated when it is interrupted at its end, and leaves one database with the log', async () => {
    const [source, target] = [await filled(from), await opened(to)]
    const cut = interrupted(source.db, (name) => {
      if (name === 'copy-leave') throw new Error('cut off')
    })
    await expect(copied(cut, target.db)).rejects.toThrow('cut off')
    const cutLater = interrupted(target.db, (name) => {
      if (name === 'copy-end') throw new Error('cut off')
    })
    await expect(copied(source.db, cutLater)).rejects.toThrow('cut off')
    expect((await copied(source.db, target.db)).isComplete).toBe(true)
    expect(await checkLogEpoch(target.db)).toBeNull()
    expect(await checkLogEpoch(source.db)).toMatchObject({ reason: 'copy' })
    for (const { db } of [source, target]) {
      const notes = db.read.sql.selectFrom('operator_actions').select(['who', 'target', 'outcome']).where('action', '=', 'database.copy')
      expect((await notes.execute()).at(-1)).toEqual({ who: 'command', target: to.name, outcome: 'done' })
    }
  })

  it('fails while a process uses the source, and into a used database', async () => {
    const [source, target] = [await filled(from), await filled(to)]
    await expect(copied(source.db, target.db)).rejects.toThrow(UsageError)
    await recordHeartbeat(source.db, { id: 'one', role: 'all', version: '0.1.0' })
    await expect(copied(source.db, target.db)).rejects.toThrow(BusyError)
    expect((await mirrorOf(target.db))['market_events']).toHaveLength(5)
  })
})

it('every table is copied, except those of one database, and tokens that work only once', async () => {
  const { db } = await opened(postgres)
  const known = await db.read.all(sql<{ name: string }>`
    select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`)
  const left = known
    .map(({ name }) => name)
    .filter((name) => !['sync_migrations', 'sync_processes', 'sync_process_settings', 'sync_push_tokens'].includes(name))
  expect((await copiedTables(db.read)).map(({ name }) => name).sort()).toEqual(left.sort())
})
