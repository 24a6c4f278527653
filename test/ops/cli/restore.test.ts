import { copyFileSync, existsSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import type { Observation } from '../../../src/model/observations.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { acquireServeLock } from '../../../src/store/open/serve-lock.ts'
import { json, runHere } from '../../app/run.ts'
import { ACCOUNT, destinationOf, fanAll, outboxOf, type StoredRow, stateOf } from '../../push/outbox.ts'
import { newSqlite, openAgain } from '../../tools/databases.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import {
  eventFacts,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'

const SUBMISSION = uuid(9, 1)
const ams = destinationOf('ams')

function place() {
  const { config, remove } = newSqlite()
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-restore-'))
  onTestFinished(async () => {
    rmSync(folder, { recursive: true, force: true })
    await remove()
  })
  return { config, env: { DATABASE_URL: `sqlite:${config.path}` }, file: join(folder, 'backup.db') }
}

const state = (status: string, number: number): Observation =>
  observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, [wireLane(1, { status })]), number)

const later = (status: string): Observation[] => [
  observedEvent(ACCOUNT, SUBMISSION, wireEvent(2)),
  observedMessage(ACCOUNT, SUBMISSION, wireMessage(2)),
  state(status, 2),
]

async function withDb<T>(config: Parameters<typeof openAgain>[0], work: (db: Db) => Promise<T>): Promise<T> {
  const db = await openAgain(config)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

const immutable = ({ entity }: StoredRow) => entity === 'market_events' || entity === 'thread_messages'

it('after a restore a destination gets everything that is learned again, under ids that name nothing twice', async () => {
  const { config, env, file } = place()
  const sent = await withDb(config, async (db) => {
    await migrate(db)
    await checkLogEpoch(db)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(1)), state('in_progress', 1)])
    await fanAll(db, [ams])
    return outboxOf(db)
  })
  const backup = await runHere(['backup', file, '--json'], env)
  expect(backup).toMatchObject({ code: 0, err: '' })
  const { last_seq: restoredSeq } = json<{ last_seq: number }>(backup)
  expect(restoredSeq).toBe(sent.length)
  const lost = await withDb(config, async (db) => {
    await applyAll(db, later('quoted'))
    await fanAll(db, [ams])
    return (await outboxOf(db)).slice(sent.length)
  })
  const restore = await runHere(['restore', file], env)
  expect(restore).toMatchObject({ code: 0, err: '' })
  expect(restore.out).toMatch(
    new RegExp(`^restored .*\\n.*begins after change ${restoredSeq}: readers.*\\nthe previous database is kept as .*\\nnow start`),
  )
  await withDb(config, async (db) => {
    expect(await checkLogEpoch(db)).toBeNull()
    expect(await outboxOf(db)).toEqual(sent.map((row) => ({ ...row, uncertain: 1 })))
    await applyAll(db, later('declined'))
    await fanAll(db, [ams])
    const again = (await outboxOf(db)).slice(sent.length)
    expect(again.map((row) => row.seq)).toEqual(lost.map((row) => row.seq))
    expect((await stateOf(db, 'ams')).cursor).toBe((await changesOf(db)).at(-1)?.seq)
    const ids = new Set(lost.map((row) => row.message_id))
    for (const row of again)
      expect(ids.has(row.message_id), `${row.entity} ${row.operation}`).toBe(immutable(row) && row.operation === 'insert')
    expect(again.filter(immutable).map((row) => row.uncertain)).toEqual(again.filter(immutable).map(() => 1))
  })
})

it('backup and restore accept a change log with holes, and say so', async () => {
  const { config, env, file } = place()
  await withDb(config, async (db) => {
    await migrate(db)
    await checkLogEpoch(db)
    await applyAll(db, eventFacts(ACCOUNT, SUBMISSION, 9))
    await db.write('test', (tx) => tx.sql.deleteFrom('changes').where('seq', 'in', [3, 4, 6]).execute())
  })
  const reported = /change log of the backup lacks 3 rows.*`submission-mirror reconcile` reports them/
  expect(await runHere(['backup', file], env)).toMatchObject({ code: 0, err: '', out: expect.stringMatching(reported) })
  expect(await runHere(['restore', file], env)).toMatchObject({ code: 0, err: '', out: expect.stringMatching(reported) })
  await withDb(config, async (db) => expect((await changesOf(db)).map(({ seq }) => seq).slice(0, 4)).toEqual([1, 2, 5, 7]))
  expect(json(await runHere(['backup', `${file}.json`, '--json'], env))).toMatchObject({ lost: 3 })
})

it('backup and restore reject a database with a missing table', async () => {
  const { config, env, file } = place()
  await withDb(config, async (db) => void (await migrate(db)))
  copyFileSync(config.path, file)
  for (const path of [config.path, file]) {
    const damaged = new Database(path)
    damaged.exec('drop table lanes; drop view quote_board')
    damaged.close()
  }
  const reported = /: it lacks the table lanes \(dropped by hand\); restore a backup that has it/
  expect(await runHere(['backup', `${file}.new`], env)).toMatchObject({ code: 1, err: expect.stringMatching(reported) })
  expect(existsSync(`${file}.new`)).toBe(false)
  expect(await runHere(['restore', file], env)).toMatchObject({ code: 1, err: expect.stringMatching(reported) })
})

it('restore refuses a file that is damaged or no database, and asks for another backup', async () => {
  const { config, env, file } = place()
  await withDb(config, async (db) => void (await migrate(db)))
  copyFileSync(config.path, file)
  truncateSync(file, 100_000)
  for (const [damaged, why] of [
    [file, 'database disk image is malformed'],
    [import.meta.filename, 'file is not a database'],
  ] as const) {
    expect(await runHere(['restore', damaged], env)).toEqual({
      code: 1,
      out: '',
      err: `${damaged} cannot be restored: it is damaged or not an SQLite database (${why}); name another backup; nothing was changed\n`,
    })
  }
  expect(readdirSync(dirname(config.path)).filter((name) => name.includes('.restore-'))).toEqual([])
})

it('backup and restore say in one line why they cannot, and which exit code means what', async () => {
  const { config, env, file } = place()
  expect(await runHere(['backup', file], env)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^database .* does not exist\. Set DATABASE_URL\n$/),
  })
  await withDb(config, async (db) => void (await migrate(db)))
  expect(await runHere(['backup', file], env)).toMatchObject({ code: 0, out: expect.stringMatching(/^Backed up .*\nVerified: .*\n$/) })
  expect(await runHere(['backup', file], env)).toMatchObject({ code: 2, err: `${file} exists already; name another file, or remove it\n` })
  const lock = await acquireServeLock(config)
  expect(await runHere(['restore', file], env)).toMatchObject({
    code: 4,
    err: expect.stringMatching(/^another process \(`serve` or `restore`\) is using .*or stop it first/),
  })
  lock.release()
  expect(await runHere(['restore', `${file}.none`], env)).toMatchObject({ code: 2, err: `there is no file ${file}.none\n` })
  expect(await runHere(['restore', dirname(file)], env)).toEqual({
    code: 2,
    out: '',
    err: `${dirname(file)} is not a file; name the backup itself\n`,
  })
  const postgres = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  expect(await runHere(['backup', file], postgres)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^backup supports only SQLite.*pg_dump/),
  })
  expect(await runHere(['restore', file], postgres)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^restore is for SQLite.*--new-epoch/),
  })
  expect(existsSync(config.path)).toBe(true)
})

it('migrate --new-epoch begins a new numbering, and leaves a note of who did it', async () => {
  const { config, env } = place()
  const before = await runHere(['migrate'], env)
  expect(before.code).toBe(0)
  const epoch = () => withDb(config, (db) => db.read.sql.selectFrom('mirror_info').select('log_epoch').executeTakeFirstOrThrow())
  const old = await epoch()
  expect(await runHere(['migrate', '--new-epoch'], env)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/begins after change 0: readers/),
  })
  expect(await epoch()).not.toEqual(old)
  const actions = await withDb(config, (db) => db.read.sql.selectFrom('operator_actions').select(['who', 'action', 'outcome']).execute())
  expect(actions).toEqual([{ who: 'command', action: 'log.new-epoch', outcome: 'done' }])
})
