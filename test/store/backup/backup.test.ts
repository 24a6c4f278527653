import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { BusyError, PermanentError, UsageError } from '../../../src/base/errors.ts'
import { backupSqlite } from '../../../src/store/backup/backup.ts'
import { restoreSqlite } from '../../../src/store/backup/restore.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import { infoOf } from '../../../src/store/changes/log-info.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { acquireServeLock } from '../../../src/store/open/serve-lock.ts'
import { startChild } from '../../tools/child.ts'
import { newSqlite, openAgain, silentLog } from '../../tools/databases.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { eventFacts, observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const SUBMISSION = uuid(9, 1)
const never = new AbortController().signal
const parts = { clock: systemClock, log: silentLog, who: 'command' }

async function place() {
  const { config, remove } = newSqlite()
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-backup-'))
  onTestFinished(async () => {
    rmSync(folder, { recursive: true, force: true })
    await remove()
  })
  return { config, file: (name: string) => join(folder, name), files: () => readdirSync(folder).sort() }
}

async function filled(config: { kind: 'sqlite'; path: string }, count: number): Promise<Db> {
  const db = await openAgain(config)
  await migrate(db)
  await checkLogEpoch(db)
  await applyAll(db, eventFacts(ACCOUNT, SUBMISSION, count))
  return db
}

const epochOf = async (db: Db) => (await infoOf(db.read)).log_epoch
const lastSeqOf = async (db: Db) => (await infoOf(db.read)).last_seq
const events = async (db: Db) => (await db.read.sql.selectFrom('market_events').select('event_id').execute()).length

describe('a backup', () => {
  it('is one consistent file, made while the database is written without a pause', async () => {
    const { config, file, files } = await place()
    const db = await closedAtEnd(filled(config, 2_000))
    let written = 2_000
    let over = false
    const writing = (async () => {
      while (!over) {
        await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(written++))])
        await new Promise(setImmediate)
      }
    })()
    const backup = await backupSqlite(config.path, file('a.db'), never)
    over = true
    await writing
    expect(written).toBeGreaterThan(2_001)
    expect(files()).toEqual(['a.db'])
    const copy = new Database(file('a.db'), { readonly: true })
    onTestFinished(() => void copy.close())
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(copy.pragma('journal_mode', { simple: true })).toBe('delete')
    const count = (from: string) => (copy.prepare(`select count(*) as n from ${from}`).get() as { n: number }).n
    expect(backup.facts).toMatchObject({ firstSeq: 1, lastSeq: count('changes'), logEpoch: await epochOf(db) })
    expect(backup.facts.rows['market_events']).toBe(count('market_events'))
    expect(count('market_events')).toBeGreaterThanOrEqual(2_000)
    expect(count('market_events')).toBeLessThan(written)
    expect(count("sync_log_epochs where origin = 'copy'")).toBe(1)
    expect(backup.bytes).toBe(readFileSync(file('a.db')).length)
  })

  it.each(['', '-wal', '-shm', '-journal', '-serve', '-serve-journal'])(
    'takes no name of a file of the database, existing or not: mirror.db%s',
    async (ending) => {
      const { config, file } = await place()
      await (await filled(config, 1)).close()
      const folder = dirname(config.path)
      const before = readdirSync(folder).sort()
      symlinkSync(folder, file('linked'))
      for (const name of [config.path, join(file('linked'), basename(config.path))]) {
        await expect(backupSqlite(config.path, `${name}${ending}`, never)).rejects.toThrow(
          new UsageError([`${name}${ending} is a file of the database itself; name another file`]),
        )
      }
      expect(readdirSync(folder).sort()).toEqual(before)
    },
  )

  it('accepts neither a folder nor an empty name, and advises no removal', async () => {
    const { config, file } = await place()
    await (await filled(config, 1)).close()
    mkdirSync(file('copies'))
    await expect(backupSqlite(config.path, file('copies'), never)).rejects.toThrow(
      new UsageError([`${file('copies')} is a folder; name a file in it`]),
    )
    await expect(backupSqlite(config.path, '', never)).rejects.toThrow(new UsageError([`${process.cwd()} is a folder; name a file in it`]))
  })

  it('overwrites nothing, and leaves nothing behind when it cannot be made or is stopped', async () => {
    const { config, file, files } = await place()
    await closedAtEnd(filled(config, 10))
    writeFileSync(file('there.db'), 'mine')
    await expect(backupSqlite(config.path, file('there.db'), never)).rejects.toThrow(/exists already/)
    await expect(backupSqlite(config.path, file('no/folder.db'), never)).rejects.toThrow(UsageError)
    const stopped = AbortSignal.abort(new Error('stop'))
    await expect(backupSqlite(config.path, file('b.db'), stopped)).rejects.toThrow('stop')
    const stopping = new AbortController()
    const made = backupSqlite(config.path, file('b.db'), stopping.signal)
    stopping.abort(new Error('stop now'))
    await expect(made).rejects.toThrow('stop now')
    writeFileSync(
      file('nonsense'),
      'this is no database, whatever it is called; it is long enough to have a header of its own, though'.repeat(20),
    )
    await expect(backupSqlite(file('nonsense'), file('c.db'), never)).rejects.toThrow(
      /no backup was made: .*is damaged or not an SQLite database/,
    )
    expect(files()).toEqual(['nonsense', 'there.db'])
    expect(readFileSync(file('there.db'), 'utf8')).toBe('mine')
  })

  it('is not made when the database lacks a table', async () => {
    const { config, file, files } = await place()
    const db = await closedAtEnd(filled(config, 1))
    await db.write('test', (tx) => tx.sql.schema.dropTable('quotes').execute())
    await expect(backupSqlite(config.path, file('b.db'), never)).rejects.toThrow(/then removed: it lacks the table quotes/)
    expect(files()).toEqual([])
  })
})

describe('a restore', () => {
  it('replaces the database under a new log epoch, and keeps the previous one', async () => {
    const { config, file } = await place()
    const db = await filled(config, 5)
    const { facts } = await backupSqlite(config.path, file('a.db'), never)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(5))])
    await db.close()
    const restored = await restoreSqlite(config, file('a.db'), parts)
    expect(restored).toMatchObject({ facts, migrated: [], epoch: { afterSeq: facts.lastSeq, reason: 'restore' } })
    const now = await closedAtEnd(openAgain(config))
    expect([await events(now), await epochOf(now)]).toEqual([5, restored.epoch.logEpoch])
    expect(restored.epoch.logEpoch).not.toBe(facts.logEpoch)
    expect(await checkLogEpoch(now)).toBeNull()
    await applyAll(now, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(6))])
    expect((await changesOf(now)).map(({ seq }) => seq)).toEqual(Array.from({ length: await lastSeqOf(now) }, (_, n) => n + 1))
    expect(await lastSeqOf(now)).toBeGreaterThan(facts.lastSeq)
    const before = await closedAtEnd(openAgain({ kind: 'sqlite', path: restored.previous ?? '' }))
    expect(await events(before)).toBe(6)
    expect(existsSync(file('a.db'))).toBe(true)
  })

  it('keeps the previous database of another restore in the same second, too', async () => {
    const { config, file } = await place()
    const db = await filled(config, 5)
    await backupSqlite(config.path, file('a.db'), never)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(5))])
    await db.close()
    const then = { ...parts, clock: new ManualClock() }
    const [first, second] = [await restoreSqlite(config, file('a.db'), then), await restoreSqlite(config, file('a.db'), then)]
    expect(second.previous).not.toBe(first.previous)
    const before = await closedAtEnd(openAgain({ kind: 'sqlite', path: first.previous ?? '' }))
    expect(await events(before)).toBe(6)
  })

  it('by hand, with a file from `backup`, is detected at the next start', async () => {
    const { config, file } = await place()
    const db = await filled(config, 5)
    await db.close()
    const { facts } = await backupSqlite(config.path, file('a.db'), never)
    const copied = await closedAtEnd(openAgain({ kind: 'sqlite', path: file('a.db') }))
    expect(await checkLogEpoch(copied)).toMatchObject({ afterSeq: facts.lastSeq, reason: 'copy' })
    expect(await epochOf(copied)).not.toBe(facts.logEpoch)
  })

  it("keeps the permissions of the database, regardless of the backup's", async () => {
    const { config, file } = await place()
    const db = await filled(config, 1)
    await db.close()
    await backupSqlite(config.path, file('a.db'), never)
    chmodSync(file('a.db'), 0o444)
    const rightsOf = (path: string) => statSync(path).mode & 0o777
    chmodSync(config.path, 0o600)
    await restoreSqlite(config, file('a.db'), parts)
    expect(rightsOf(config.path)).toBe(0o600)
    await restoreSqlite({ kind: 'sqlite', path: file('new.db') }, file('a.db'), parts)
    expect(rightsOf(file('new.db'))).toBe(0o640)
  })

  it('moves the rest of the log of a damaged database away with it', async () => {
    const { config, file } = await place()
    const db = await filled(config, 5)
    await db.close()
    await backupSqlite(config.path, file('a.db'), never)
    rmSync(`${config.path}-wal`, { force: true })
    writeFileSync(config.path, 'no database at all'.repeat(1_000))
    writeFileSync(`${config.path}-shm`, 'where to find what in the log')
    const { previous } = await restoreSqlite(config, file('a.db'), parts)
    expect([existsSync(`${config.path}-shm`), existsSync(`${previous}-shm`)]).toEqual([false, true])
    const now = await closedAtEnd(openAgain(config))
    expect(await events(now)).toBe(5)
  })

  it('moves the log of a missing database away', async () => {
    const { config, file } = await place()
    const db = await filled(config, 5)
    await backupSqlite(config.path, file('a.db'), never)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(6))])
    const log = readFileSync(`${config.path}-wal`)
    await db.close()
    rmSync(config.path)
    writeFileSync(`${config.path}-wal`, log)
    const { previous, leftovers: moved } = await restoreSqlite(config, file('a.db'), parts)
    expect([previous, moved]).toEqual([null, [expect.stringMatching(/-wal$/)]])
    const beside = readdirSync(dirname(config.path)).filter((name) => name.startsWith(basename(config.path)) && name.endsWith('-wal'))
    expect(beside).toEqual([expect.stringMatching(/\.before-\d{8}T\d{6}Z-wal$/)])
    const now = await closedAtEnd(openAgain(config))
    expect(await events(now)).toBe(5)
  })

  it('fails while `serve` runs or another process has the database open, and changes nothing', async () => {
    const { config, file } = await place()
    const db = await filled(config, 3)
    await backupSqlite(config.path, file('a.db'), never)
    await applyAll(db, [observedEvent(ACCOUNT, SUBMISSION, wireEvent(3))])
    await db.close()
    const lock = await acquireServeLock(config)
    await expect(restoreSqlite(config, file('a.db'), parts)).rejects.toThrow(BusyError)
    lock.release()
    const child = startChild('store/children/hold-lock.ts', [config.path])
    onTestFinished(() => child.kill())
    await child.says('locked')
    await expect(restoreSqlite(config, file('a.db'), parts)).rejects.toThrow(/is open in another process .* Nothing was changed/)
    await child.kill()
    const now = await closedAtEnd(openAgain(config))
    expect(await events(now)).toBe(4)
  })

  it('reports what to do when the backup cannot be copied, and leaves no file', async () => {
    const { config, file, files } = await place()
    const db = await filled(config, 3)
    await db.close()
    await backupSqlite(config.path, file('a.db'), never)
    // A folder in the place of its log cannot be copied.
    mkdirSync(file('a.db-wal'))
    const restoring = restoreSqlite({ kind: 'sqlite', path: file('m.db') }, file('a.db'), parts)
    await expect(restoring).rejects.toThrow(PermanentError)
    await expect(restoring).rejects.toThrow(
      /a\.db cannot be restored: copying it to .* failed \(.*copyfile.*\); check that .*; nothing was changed$/,
    )
    expect(files()).toEqual(['a.db', 'a.db-wal', 'm.db-serve'])
  })

  it('rejects a missing, damaged or foreign file, but accepts a damaged database', async () => {
    const { config, file } = await place()
    const db = await filled(config, 500)
    await db.close()
    await backupSqlite(config.path, file('good.db'), never)
    await expect(restoreSqlite(config, file('none.db'), parts)).rejects.toThrow(UsageError)
    await expect(restoreSqlite(config, config.path, parts)).rejects.toThrow(/is the database itself/)
    symlinkSync(config.path, file('linked.db'))
    await expect(restoreSqlite({ kind: 'sqlite', path: file('linked.db') }, config.path, parts)).rejects.toThrow(/is the database itself/)
    writeFileSync(file('short.db'), readFileSync(file('good.db')))
    truncateSync(file('short.db'), 20_000)
    await expect(restoreSqlite(config, file('short.db'), parts)).rejects.toThrow(/cannot be restored: .*nothing was changed/)
    const other = new Database(file('other.db'))
    other.exec('create table theirs (id text)')
    other.close()
    await expect(restoreSqlite(config, file('other.db'), parts)).rejects.toThrow(PermanentError)
    await expect(restoreSqlite(config, file('other.db'), parts)).rejects.toThrow(/not a database of submission-mirror/)
    truncateSync(config.path, 20_000)
    const { previous } = await restoreSqlite(config, file('good.db'), parts)
    const now = await closedAtEnd(openAgain(config))
    expect([await events(now), readFileSync(previous ?? '').length]).toEqual([500, 20_000])
  })
})
