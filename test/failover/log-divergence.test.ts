import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkLogEpoch } from '../../src/store/changes/log-epoch.ts'
import { LogMovedError } from '../../src/store/engine/checked-server.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { claimStreams } from '../../src/store/outbox/work.ts'
import { destinationOf, fanAll, outboxOf } from '../push/outbox.ts'
import { newPostgres, openAgain } from '../tools/databases.ts'
import { applyAll } from '../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../tools/observations.ts'
import { type Server, startPostgres } from '../tools/postgres-server.ts'
import { ask, promote, REPLICATED, startStandby } from '../tools/postgres-standby.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'

const ACCOUNT = 'acme'
const event = (n: number) => observedEvent(ACCOUNT, uuid(9, 1), wireEvent(n))
let first: Server
let second: Server
let config: Extract<DatabaseConfig, { kind: 'postgres' }>

beforeAll(async () => {
  first = await startPostgres({ fsync: false, settings: REPLICATED })
  config = newPostgres(first.url).config
  const db = await openAgain(config)
  await migrate(db)
  await db.close()
})
afterAll(async () => {
  await second?.remove()
  await first.remove()
})

async function openOn(...servers: readonly Server[]): Promise<Db> {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const url = { reveal: () => `postgres://postgres:${first.password}@${hosts}/postgres?target_session_attrs=read-write` }
  const db = await closedAtEnd(openAgain({ ...config, url, listenUrl: url }))
  return db
}

async function endOf(db: Db): Promise<number> {
  return (await db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()).last_seq
}

it('data that were copied back under a running process are detected from its memory alone', async () => {
  const db = await openOn(first)
  await checkLogEpoch(db)
  await applyAll(db, [event(1)])
  const common = await endOf(db)
  await first.stop()
  const copy = `${first.data}-copy`
  await cp(first.data, copy, { recursive: true, preserveTimestamps: true })
  await first.start()
  await applyAll(db, [event(2)])
  const lost = await endOf(db)
  await first.stop()
  // A snapshot of the whole server keeps identifier and timeline.
  await rm(first.data, { recursive: true })
  await cp(copy, first.data, { recursive: true })
  await ownAll(first)
  await first.start()
  await expect(applyAll(db, [event(3)])).rejects.toThrow(LogMovedError)
  expect(await checkLogEpoch(db)).toMatchObject({ reason: 'lost', afterSeq: common, knownSeq: lost })
})

it('a standby that lagged, promoted, gets nothing before it was checked, and then a new epoch', async () => {
  second = await startStandby(first, 'second', { fsync: false })
  const db = await openOn(first, second)
  const other = await openOn(first, second)
  const ams = destinationOf('ams')
  await checkLogEpoch(db)
  await checkLogEpoch(other)
  await applyAll(db, [event(4)])
  await fanAll(db, [ams])
  const common = await endOf(db)
  await until('the standby has it', async () => (await seenBy(second)) === common)
  await second.stop()
  await applyAll(db, [event(5)])
  await fanAll(db, [ams])
  const lost = await outboxOf(db, 'ams')
  const known = await endOf(db)
  await first.kill()
  await second.start()
  await promote(second)

  await until('the dead connections are gone', () =>
    endOf(db).then(
      (end) => end === common,
      () => false,
    ),
  )
  // Another process with fewer changes refuses too, by the timeline.
  await until('so are those of the other', () =>
    endOf(other).then(
      () => true,
      () => false,
    ),
  )
  await expect(applyAll(other, [event(6)])).rejects.toThrow(/another server or timeline/)
  const claim = { streams: 1, rowsPerStream: 1, leaseMs: 1_000, uncertain: false }
  await expect(claimStreams(other, 'ams', claim)).rejects.toThrow(LogMovedError)
  expect(await checkLogEpoch(other)).toMatchObject({ reason: 'server', afterSeq: common, knownSeq: null })
  await applyAll(other, [event(6)])
  // The process that has seen more adds its knowledge.
  expect(await checkLogEpoch(db)).toBeNull()
  const rows = await db.read.all(sql`select after_seq, known_seq, reason from log_epochs order by epoch_no desc limit 1`)
  expect(rows).toEqual([{ after_seq: common, known_seq: known, reason: 'server' }])

  await applyAll(db, [event(5)])
  await fanAll(db, [ams])
  const again = (await outboxOf(db, 'ams')).filter(({ seq }) => seq > common)
  const lostIds = new Map(
    lost.filter(({ seq }) => seq > common).map((row) => [row.message_id, `${row.entity} ${row.entity_id} ${row.operation}`]),
  )
  expect(again.length).toBeGreaterThan(0)
  // No id means another change than in the lost part of the log.
  for (const row of again)
    expect(lostIds.get(row.message_id) ?? `${row.entity} ${row.entity_id} ${row.operation}`).toBe(
      `${row.entity} ${row.entity_id} ${row.operation}`,
    )
})

async function seenBy(server: Server): Promise<number> {
  const { rows } = await ask(server, (client) => client.query(`select last_seq from ${config.schema}.mirror_info`))
  return Number(rows[0].last_seq)
}

async function ownAll(server: Server): Promise<void> {
  server.own(server.data)
  for (const entry of await readdir(server.data, { recursive: true })) server.own(join(server.data, entry))
}
