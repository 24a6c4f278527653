import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { migrations } from '../../../migrations/index.ts'
import { FatalError, UsageError } from '../../../src/base/errors.ts'
import { entities } from '../../../src/model/entities.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { grantReader } from '../../../src/store/migrate/grant-reader.ts'
import { checkSchema, migrate, SchemaBehindError } from '../../../src/store/migrate/migrate.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import type { Migration } from '../../../src/store/schema/migration.ts'
import { relations } from '../../../src/store/schema/tables.ts'
import { startChild } from '../../tools/child.ts'
import { databaseText } from '../../tools/database-json.ts'
import { newPostgres, newSqlite, type OpenedDatabase, openAgain, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'

function step(version: number, oldestCompatible: number, statement = `create table extra_${version} (id text)`): Migration {
  return { version, name: `step-${version}`, oldestCompatible, statements: () => [statement] }
}

const NAMES = migrations.map((migration) => migration.name)
/** The newest version that is released, and the first two that a later release could have. */
const NEWEST = Math.max(...migrations.map((migration) => migration.version))
const [NEXT, AFTER_NEXT] = [NEWEST + 1, NEWEST + 2]

const altered = [...migrations, step(NEXT, 1, 'alter table lanes add column extra text')]

async function connected(statement: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: inject('postgresUrl') })
  await client.connect()
  await client.query(statement)
  return client
}

async function infoOf(opened: OpenedDatabase) {
  return await opened.db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
}

describe.each(testDatabases)('migrations on $name', ({ open }) => {
  let opened: OpenedDatabase

  beforeEach(async () => {
    opened = await open({ migrated: false })
  })
  afterEach(() => opened.close())

  it('create every public table with the columns of the code, and the one row of mirror_info', async () => {
    expect(await migrate(opened.db)).toEqual(NAMES)
    for (const entity of entities) expect(await opened.db.read.selectWhere(entity, {})).toEqual([])
    for (const view of ['freshness', 'submission_overview', 'activity_timeline', 'quote_board', 'push_status'])
      expect(await opened.db.read.all(sql`select * from ${sql.table(view)}`)).toEqual([])
    const log_epoch = expect.stringMatching(/^[0-9a-f-]{36}$/)
    expect(await infoOf(opened)).toEqual({ id: 1, schema_version: NEWEST, log_epoch, first_seq: 1, last_seq: 0 })
    await checkSchema(opened.db)
  })

  it('run each step once, and keep the epoch', async () => {
    await migrate(opened.db)
    const before = await infoOf(opened)
    expect(await migrate(opened.db)).toEqual([])
    expect(await migrate(opened.db, [...migrations, step(NEXT, 1), step(AFTER_NEXT, 1)])).toEqual([`step-${NEXT}`, `step-${AFTER_NEXT}`])
    expect(await infoOf(opened)).toEqual({ ...before, schema_version: AFTER_NEXT })
  })

  it('keep nothing of a failed step, and everything before it', async () => {
    const good = [...migrations, step(NEXT, 1)]
    const broken = { ...step(AFTER_NEXT, 1), statements: () => ['create table half (id text)', 'create nonsense'] }
    await expect(migrate(opened.db, [...good, broken])).rejects.toThrow(/nonsense/)
    expect((await infoOf(opened)).schema_version).toBe(NEXT)
    expect(await migrate(opened.db, [...good, step(AFTER_NEXT, 1, 'create table half (id text)')])).toEqual([`step-${AFTER_NEXT}`])
  })

  it('accept a database that a later release has expanded, not one that it has contracted', async () => {
    await migrate(opened.db, [...migrations, step(NEXT, 1)])
    expect(await migrate(opened.db)).toEqual([])
    await checkSchema(opened.db)
    expect((await infoOf(opened)).schema_version).toBe(NEXT)
    await migrate(opened.db, [...migrations, step(NEXT, 1), step(AFTER_NEXT, NEXT)])
    const refusal = new RegExp(`later release removed parts.*version ${AFTER_NEXT}.*version ${NEXT} or later.*has version ${NEWEST}`)
    for (const start of [() => migrate(opened.db), () => checkSchema(opened.db)]) {
      await expect(start()).rejects.toThrow(FatalError)
      await expect(start()).rejects.toThrow(refusal)
    }
  })

  it('reject a database in which a step differs, and leave it unchanged', async () => {
    await migrate(opened.db, [...migrations, step(NEXT, 1)])
    const others = [...migrations, step(NEXT, 1, 'create table other (id text)')]
    const refusal = new UsageError([
      `DATABASE_URL: the database was made by an unreleased version (its migration ${NEXT} is not step-${NEXT} of this release). Create a new database`,
    ])
    for (const start of [() => migrate(opened.db, others), () => checkSchema(opened.db, others)])
      await expect(start()).rejects.toThrow(refusal)
    expect(await migrate(opened.db, [...migrations, step(NEXT, 1)])).toEqual([])
  })

  it('are named when the start may not run them', async () => {
    await expect(checkSchema(opened.db)).rejects.toThrow(/no tables of submission-mirror yet; run `submission-mirror migrate`/)
    await expect(checkSchema(opened.db)).rejects.toThrow(SchemaBehindError)
    await migrate(opened.db)
    const later = [...migrations, step(101, 1), step(102, 1)]
    const lacks = /lacks migration 101 \(step-101\), 102 \(step-102\); run `submission-mirror/
    await expect(checkSchema(opened.db, later)).rejects.toThrow(lacks)
  })

  it('run once when two processes start together', async () => {
    const children = [0, 1].map(() => startChild('store/children/migrate.ts', [databaseText(opened.config)]))
    await Promise.all(children.map((child) => child.says('ready')))
    for (const child of children) child.tell('go')
    const taken = await Promise.all(children.map((child) => child.says('taken')))
    // The last process to close a SQLite file locks it for a moment.
    await Promise.all(children.map((child) => child.ended()))
    // Each step by one of them.
    expect(taken.flatMap((names) => JSON.parse(names) as string[]).toSorted()).toEqual(NAMES.toSorted())
    await checkSchema(opened.db)
  })

  it('wait for a long reader without blocking others, and report it', async () => {
    if (opened.config.kind === 'sqlite') return
    await migrate(opened.db)
    const reader = await connected(`begin; select * from ${opened.config.schema}.lanes`)
    const waits = Promise.withResolvers<string>()
    const migrating = migrate(opened.db, altered, { onWait: waits.resolve })
    expect(await waits.promise).toMatch(/another transaction.*pg_stat_activity/)
    await opened.db.write('test', (tx) => tx.sql.deleteFrom('lanes').execute())
    await reader.end()
    expect(await migrating).toEqual([`step-${NEXT}`])
  })

  it('stop waiting on an abort, and skip the step', async () => {
    if (opened.config.kind === 'sqlite') return
    await migrate(opened.db)
    const reader = await connected(`begin; select * from ${opened.config.schema}.lanes`)
    const stopping = new AbortController()
    const reason = new Error('stopped by SIGTERM')
    const migrating = migrate(opened.db, altered, { onWait: () => stopping.abort(reason), signal: stopping.signal })
    await expect(migrating).rejects.toBe(reason)
    await reader.end()
    await checkSchema(opened.db)
  })

  it('reject a database whose encoding cannot store every text, before anything is created', async () => {
    if (opened.config.kind === 'sqlite') return
    const { db, name, remove } = await encoded('LATIN1')
    await expect(migrate(db)).rejects.toThrow(UsageError)
    const refusal = new RegExp(`^the database ${name} has the encoding LATIN1, .* create one with the encoding UTF8 `)
    await expect(migrate(db)).rejects.toThrow(refusal)
    await expect(checkSchema(db)).rejects.toThrow(/no tables of submission-mirror yet/)
    await remove()
  })

  it('accept one that stores texts as bytes', async () => {
    if (opened.config.kind === 'sqlite') return
    const { db, remove } = await encoded('SQL_ASCII')
    await migrate(db)
    const said = { cursor: '日本語 é ☃ 😀' }
    const place = { account: 'acme', submissionId: uuid(9, 1) }
    await db.write('test', (tx) => addReads(tx, [place], timeFromMs(0), false))
    await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set(said).execute())
    expect(await db.read.sql.selectFrom('sync_reads').select('cursor').limit(1).execute()).toEqual([said])
    await remove()
  })

  it('let a reader read only the public tables and views', async () => {
    await migrate(opened.db)
    if (opened.config.kind === 'sqlite') {
      await expect(grantReader(opened.db, 'reporting')).rejects.toThrow(UsageError)
      return
    }
    const { schema } = opened.config
    const role = `re"porting ${schema}`
    await expect(grantReader(opened.db, role)).rejects.toThrow(/there is no role/)
    const quoted = pg.escapeIdentifier(role)
    const admin = await connected(`create role ${quoted}`)
    await admin.query(`grant all on ${schema}.sync_inbox, ${schema}.lanes to ${quoted}`)
    await grantReader(opened.db, role)
    await grantReader(opened.db, role)
    await admin.query(`set role ${quoted}`)
    const may = (statement: string) => isDone(admin, statement)
    for (const name of [...entities.map((e) => e.table), 'changes', 'mirror_info', 'push_map', 'freshness', 'quote_board', 'push_status']) {
      expect([name, await may(`select * from ${schema}.${name}`)]).toEqual([name, true])
    }
    for (const name of ['sync_inbox', 'sync_reads', 'sync_migrations', 'sync_accounts', 'sync_outbox', 'sync_destinations']) {
      expect([name, await may(`select * from ${schema}.${name}`)]).toEqual([name, false])
    }
    expect(await may(`delete from ${schema}.lanes`)).toBe(false)
    await admin.query('reset role')
    await admin.query(`drop owned by ${quoted}`)
    await admin.query(`drop role ${quoted}`)
    await admin.end()
  })

  it('let a reader read them without personal columns, in views too, and revoke earlier rights', async () => {
    await migrate(opened.db)
    if (opened.config.kind === 'sqlite') return
    const { schema } = opened.config
    const role = `analyst_${schema}`
    const admin = await connected(`create role ${role}`)
    const mayAs = async (statement: string) => {
      await admin.query(`set role ${role}`)
      const may = await isDone(admin, statement)
      await admin.query('reset role')
      return may
    }
    const mayRead = (name: string, ...columns: string[]) => mayAs(`select ${columns.join(', ')} from ${schema}.${name}`)

    await grantReader(opened.db, role)
    expect(await mayRead('submissions', '*')).toBe(true)
    // A right on a single column, granted by hand.
    await admin.query(`grant select (insured_name), update (insured_name) on ${schema}.submissions to ${role}`)
    await grantReader(opened.db, role, { withoutPersonal: true })
    expect(await mayAs(`update ${schema}.submissions set insured_name = 'x'`)).toBe(false)
    for (const { name, columns } of relations) {
      for (const [column, { kind, class: protection }] of Object.entries(columns)) {
        const isImpersonal = kind !== 'raw' && (protection === 'none' || protection === 'business')
        expect([name, column, await mayRead(name, column)]).toEqual([name, column, isImpersonal])
      }
    }
    expect(await mayRead('submissions', '*')).toBe(false)
    expect(await mayRead('freshness', '*')).toBe(true)
    expect(await mayRead('submission_overview', 'insured_name')).toBe(false)
    expect(await mayRead('submission_overview', 'submission_id', 'lowest_current_quote_cents')).toBe(true)
    expect(await mayAs(`select 1 from ${schema}.submissions where insured_name is null`)).toBe(false)
    for (const name of ['sync_inbox', 'sync_accounts', 'sync_outbox']) expect([name, await mayRead(name, '1')]).toEqual([name, false])
    await admin.query(`set role ${role}`)
    const listed = await admin.query(`select column_name from information_schema.column_privileges
      where table_schema = '${schema}' and table_name = 'submissions' order by 1`)
    expect(listed.rows).toContainEqual({ column_name: 'marketing_status' })
    expect(listed.rows).not.toContainEqual({ column_name: 'insured_name' })
    await admin.query('reset role')

    await grantReader(opened.db, role)
    expect(await mayRead('submissions', '*')).toBe(true)
    await admin.query(`drop owned by ${role}`)
    await admin.query(`drop role ${role}`)
    await admin.end()
  })

  it('revoke no right from the owner of the tables, which the program uses', async () => {
    if (opened.config.kind === 'sqlite') return
    await migrate(opened.db)
    const owner = decodeURIComponent(new URL(inject('postgresUrl')).username)
    await expect(grantReader(opened.db, owner)).rejects.toThrow(
      `--grant-reader: ${owner} owns the tables and can read them anyway. Name another role`,
    )
  })

  it('recognize a database that another handle migrated', async () => {
    await migrate(opened.db)
    const other = await openAgain(opened.config)
    await checkSchema(other)
    await other.close()
  })
})

it('a file from the forty steps before the first release is rejected and left unchanged', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  const bytes = gunzipSync(readFileSync(new URL('unreleased.db.gz', import.meta.url)))
  writeFileSync(config.path, bytes)
  const db = await openAgain(config)
  for (const start of [() => migrate(db), () => checkSchema(db)]) {
    await expect(start()).rejects.toThrow(UsageError)
    await expect(start()).rejects.toThrow(
      /made by an unreleased version \(its migration 1 is not change-log of this release\)\. Create a new database$/,
    )
  }
  expect(await db.read.sql.selectFrom('sync_migrations').select('version').execute()).toHaveLength(40)
  await db.close()
})

function isDone(client: pg.Client, statement: string): Promise<boolean> {
  return client.query(statement).then(
    () => true,
    () => false,
  )
}

async function encoded(encoding: string) {
  const name = `encoded_${randomBytes(6).toString('hex')}`
  const admin = await connected(`create database ${name} encoding '${encoding}' locale 'C' template template0`)
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/${name}`
  const place = newPostgres(url.href)
  const db = await openAgain(place.config)
  const remove = async () => {
    await db.close()
    await place.remove()
    await admin.query(`drop database ${name}`)
    await admin.end()
  }
  return { db, name, remove }
}
