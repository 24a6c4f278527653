import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import type { DatabaseConfig } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { findDestination } from '../../../src/store/outbox/destinations.ts'
import { fanOut, knowDestinations, tryFirst } from '../../ops/cli/push-rig.ts'
import { newSqlite, openAgain, type TestDatabase } from '../../tools/databases.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

/** A database with operator backups. Nothing else may have it open. */
interface Restorable {
  readonly database: TestDatabase
  backUp(rig: DamageRig): Promise<void>
  restore(rig: DamageRig): Promise<void>
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'submission-mirror-restore-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function sqlite(): Restorable {
  const file = join(folder, 'backup.db')
  return {
    database: openable('sqlite', newSqlite()),
    backUp: async (rig) => void (await rig.command('backup', file)),
    restore: async (rig) => void (await rig.command('restore', file)),
  }
}

/** A server-side copy instead of pg_dump and pg_restore. */
function postgres(): Restorable {
  const url = inject('postgresUrl')
  const name = `restore_${process.pid}_${Date.now()}`
  const own = new URL(url)
  own.pathname = `/${name}`
  const secret = { reveal: () => own.toString() }
  const server = async (...statements: string[]) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  const config = { kind: 'postgres', url: secret, schema: 'mirror', listenUrl: secret } as const
  const remove = () => server(`drop database if exists ${name} with (force)`, `drop database if exists ${name}_backup with (force)`)
  return {
    database: openable('postgres', { config, remove, prepare: () => server(`create database ${name}`) }),
    backUp: () => server(`create database ${name}_backup template ${name}`),
    restore: async (rig) => {
      await server(`drop database ${name} with (force)`, `alter database ${name}_backup rename to ${name}`)
      await rig.command('migrate', '--new-epoch')
    },
  }
}

function withDestination(rig: DamageRig): Record<string, string> {
  const path = join(folder, 'mirror.yaml')
  const destination = { name: 'ams', kind: 'webhook', url: 'https://ams.example', secret: '${AMS_SECRET}', entities: ['market_events'] }
  writeFileSync(path, JSON.stringify({ destinations: [destination] }))
  return Object.assign(rig.env, { CONFIG_FILE: path, AMS_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}` })
}

function outbox(rig: DamageRig) {
  const columns = ['entity', 'entity_id', 'operation', 'message_id', 'state', 'cause', 'seq'] as const
  return rig.db.read.sql.selectFrom('sync_outbox').select(columns).orderBy('outbox_id').execute()
}

interface Place {
  readonly config: DatabaseConfig
  prepare?(): Promise<void>
  remove(): Promise<void>
}

function openable(name: TestDatabase['name'], { config, prepare, remove }: Place): TestDatabase {
  return {
    name,
    async open() {
      await prepare?.()
      const db = await openAgain(config)
      await migrate(db)
      return { db, config, close: remove }
    },
  }
}

it.each([
  ['sqlite', sqlite],
  ['postgres', postgres],
] as const)('restoring an old backup on %s starts a new epoch, and finds all later records', async (_, make) => {
  const restorable = make()
  const rig = await DamageRig.open(restorable.database)
  const destinations = await knowDestinations(rig.db, withDestination(rig))
  await rig.closeDb()
  await restorable.backUp(rig)
  await rig.openDb()
  const [before] = (await rig.state())['mirror_info'] ?? []
  const event = rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'declined', detail: 'Too old a roof' })
  const letter = rig.sandbox.addMessage(ACCOUNT, rig.plain, { body_text: 'We are sorry.' })
  rig.sandbox.setFacts(ACCOUNT, rig.plain, { marketing_status: 'no_markets_matched' })
  await rig.command('sync', '--all')
  await fanOut(rig.db, destinations)
  const [sent] = await outbox(rig)
  await tryFirst(rig.db, 'ams', { state: 'delivered', status: 204, error: null })
  const [lost] = (await rig.state())['mirror_info'] ?? []
  expect(await rig.differences()).toEqual([])
  await rig.closeDb()
  await restorable.restore(rig)
  await rig.openDb()
  const [restored] = (await rig.state())['mirror_info'] ?? []
  expect(restored).toEqual({ ...before, log_epoch: expect.any(String) })
  expect(restored?.['log_epoch']).not.toBe(before?.['log_epoch'])
  const ended = await rig.reconcile()
  expect({ code: ended.code, err: ended.err, found: findingTexts(ended.findings) }).toEqual({
    code: 0,
    err: '',
    found: [`moved market_events ${event.id}`, 'moved submissions', `moved thread_messages ${letter.id}`],
  })
  expect(await rig.differences()).toEqual([])
  const [repaired] = (await rig.state())['mirror_info'] ?? []
  // The same numbers belong to other changes now, so the epoch differs.
  expect(Number(repaired?.['last_seq'])).toBeGreaterThan(Number(before?.['last_seq']))
  expect(repaired?.['log_epoch']).not.toBe(lost?.['log_epoch'])
  // It gets the event again, with the same id.
  await fanOut(rig.db, destinations)
  expect(await outbox(rig)).toEqual([{ ...sent, seq: expect.any(Number), state: 'ready', cause: 'reconcile' }])
  expect(await findDestination(rig.db.read, 'ams')).toMatchObject({ log_epoch: repaired?.['log_epoch'], cursor: repaired?.['last_seq'] })
  expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
})
