import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { FatalError, TransientError } from '../../../src/base/errors.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { notWritable } from '../../../src/store/open/open.ts'
import { acquireServeLock, isServeLockHeld } from '../../../src/store/open/serve-lock.ts'
import { startChild } from '../../tools/child.ts'
import { newSqlite, openAgain } from '../../tools/databases.ts'
import { nobody } from '../../tools/nobody.ts'
import { until } from '../../tools/until.ts'

describe('SQLite', () => {
  let place: ReturnType<typeof newSqlite>
  let db: Db

  beforeEach(async () => {
    place = newSqlite()
    db = await openAgain(place.config)
    await migrate(db)
  })
  afterEach(async () => {
    await db.close()
    await place.remove()
  })

  function count(account: string): Promise<unknown> {
    return db.write('count', (tx) => tx.sql.insertInto('sync_counters').values({ account, name: 'n', label: '', value: 1 }).execute())
  }

  it("waits for another process's lock without blocking, and can read then", async () => {
    const other = startChild('store/children/hold-lock.ts', [place.config.path])
    await other.says('locked')
    const writing = count('acme')
    // The event loop releases the lock, so the write fails if the loop is blocked.
    for (let turns = 0; turns < 20; turns++) {
      await new Promise(setImmediate)
      expect(await db.read.sql.selectFrom('sync_counters').selectAll().execute()).toEqual([])
    }
    other.tell('let go')
    await other.says('released')
    await writing
    expect(await db.read.sql.selectFrom('sync_counters').select('account').execute()).toEqual([{ account: 'acme' }])
  })

  it('fails with a message when the lock stays, and continues when it is released', async () => {
    const other = startChild('store/children/hold-lock.ts', [place.config.path])
    await other.says('locked')
    const refused = await Promise.allSettled([count('a'), count('b')])
    for (const one of refused) {
      expect(one).toMatchObject({ status: 'rejected', reason: expect.any(TransientError) })
      expect(String((one as PromiseRejectedResult).reason)).toMatch(/is locked by another process/)
    }
    await other.kill()
    await count('c')
    expect(await db.read.sql.selectFrom('sync_counters').select('account').execute()).toEqual([{ account: 'c' }])
  })

  it('waits for the disk at each commit but one that may be forgotten', async () => {
    const flushing = async (tx: Tx) => (await tx.one(sql<{ synchronous: number }>`pragma synchronous`))?.synchronous
    const [full, normal] = [2, 1]
    expect(await db.write('kept', flushing)).toBe(full)
    expect(await db.write('relaxed', flushing, { relaxedDurability: true })).toBe(normal)
    expect(await db.write('kept', flushing)).toBe(full)
  })

  it('fails with a transient error while the disk is full, and continues when there is space', async () => {
    const full = newSqlite()
    const child = startChild('store/children/small-disk.ts', [full.config.path], 'ulimit -S -f 4000')
    expect(await child.says('refused')).toMatch(/^true .*disk/)
    expect(await child.says('kept')).toBe('true')
    expect(await child.ended()).toBe(0)
    await full.remove()
  })

  it.each(['', '-wal'])('writes nothing more when its file%s is moved away or replaced, and continues when it is back', async (which) => {
    const file = `${place.config.path}${which}`
    await count('before')
    renameSync(file, `${file}.away`)
    const refusal = (what: string) => ({ name: 'TransientError', message: expect.stringMatching(what) })
    // A restart helps only if there is a file to continue with.
    const gone = refusal(`^${file} was deleted or moved .* a restart would begin without it$`)
    await expect(count('gone')).rejects.toMatchObject(gone)
    await expect(db.write('aside', async () => {}, { onWorkerThread: true })).rejects.toMatchObject(gone)
    copyFileSync(`${file}.away`, file)
    await expect(count('replaced')).rejects.toMatchObject(refusal(`^${file} was replaced .* or restart the program`))
    rmSync(file)
    renameSync(`${file}.away`, file)
    await count('back')
    const kept = await db.read.sql.selectFrom('sync_counters').select('account').orderBy('account').execute()
    expect(kept).toEqual([{ account: 'back' }, { account: 'before' }])
  })

  it('is one file when all have closed it, and loses nothing while processes open and close it concurrently', async () => {
    const { path } = place.config
    const beside = () => ['-wal', '-shm', '-journal'].filter((ending) => existsSync(`${path}${ending}`))
    await db.close()
    expect(beside()).toEqual([])
    const children = ['a', 'b', 'c'].map((name) => startChild('store/children/comes-and-goes.ts', [path, name, '40']))
    for (const child of children) await child.says('done')
    for (const child of children) expect(await child.ended()).toBe(0)
    expect(beside()).toEqual([])
    db = await openAgain(place.config)
    expect(await db.read.sql.selectFrom('sync_counters').select('value').execute()).toHaveLength(3 * 40)
  })

  it('commits to the disk, and leaves checkpoints to another thread', async () => {
    const writer = new Database(place.config.path)
    expect(writer.pragma('journal_mode', { simple: true })).toBe('wal')
    writer.close()
    const log = `${place.config.path}-wal`
    const blob = 'x'.repeat(100_000)
    for (let i = 0; i < 300; i++) {
      await db.write('grow', (tx) =>
        tx.run(sql`insert into sync_counters (account, name, label, value) values (${blob}, ${String(i)}, '', ${i})`),
      )
    }
    const before = statSync(log).size
    expect(before).toBeGreaterThan(16 * 1024 * 1024)
    // The log restarts from time to time, so that it stops growing.
    await until('the file has it', () => statSync(place.config.path).size >= 20 * 1024 * 1024)
    await db.close()
    expect(existsSync(log)).toBe(false)
  })

  it('does not blame the rights of a user where the whole volume is read-only', () => {
    const saying = (code: string) => notWritable('/data', Object.assign(new Error(code), { code }))
    expect(saying('EROFS')).toMatch(/^\/data is on a volume that is mounted read-only; .* mount it writable/)
    expect(saying('EACCES')).toMatch(/^\/data is not writable by user (\d+); give it to that user \(chown \1 \/data\)$/)
  })

  it.each(['', '-wal', '-shm', '-journal', '-serve'])('says whose a file is that its user cannot write: mirror.db%s', async (ending) => {
    const { uid, gid } = nobody()
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-owner-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'mirror.db')
    const file = `${path}${ending}`
    for (const each of new Set([path, file])) writeFileSync(each, '')
    chmodSync(file, 0o400)
    if (uid !== undefined) for (const own of [folder, path]) if (own !== file) chownSync(own, uid, gid)
    const child = startChild('store/children/open-as.ts', [path, String(uid ?? ''), String(gid ?? '')])
    const error = await child.says('FatalError')
    if (uid === undefined) expect(error).toMatch(`${file} is not writable by user`)
    else expect(error).toMatch(`${file} belongs to user 0 and is not writable by user ${uid}; give it to that user (chown ${uid} ${file})`)
  })

  it('says who cannot write where', async () => {
    const file = join(place.config.path, 'below', 'mirror.db')
    await expect(openAgain({ kind: 'sqlite', path: file })).rejects.toThrow(
      /^The folder .* cannot be created by user \d+ .*set DATABASE_URL to another place/,
    )
    await expect(openAgain({ kind: 'sqlite', path: file })).rejects.toThrow(FatalError)
    for (const path of ['/proc/nowhere/mirror.db', join(place.config.path, 'mirror.db')])
      await expect(openAgain({ kind: 'sqlite', path })).rejects.toThrow(/^The folder .* cannot be created/)
  })

  it('makes the folders above it', async () => {
    const path = join(`${place.config.path}-new`, 'one', 'two', 'mirror.db')
    await (await openAgain({ kind: 'sqlite', path })).close()
    expect(existsSync(path)).toBe(true)
  })

  it('refuses a file that is no database', async () => {
    const path = `${place.config.path}-text`
    writeFileSync(path, 'this is a text and no database, whatever its name may say'.repeat(100))
    await expect(openAgain({ kind: 'sqlite', path })).rejects.toThrow(/is damaged or not an SQLite database/)
    mkdirSync(`${path}-folder`)
    await expect(openAgain({ kind: 'sqlite', path: `${path}-folder` })).rejects.toThrow(
      /-folder is a folder; set DATABASE_URL to a file in it$/,
    )
  })
})

describe('the lock of serve', () => {
  it('is held by one process, refused to others, and freed when its holder is killed', async () => {
    const place = newSqlite()
    expect(isServeLockHeld(place.config)).toBe(false)
    const first = startChild('store/children/serve-lock.ts', [place.config.path])
    await first.says('held')
    expect(isServeLockHeld(place.config)).toBe(true)
    const second = startChild('store/children/serve-lock.ts', [place.config.path])
    expect(await second.says('refused')).toMatch(/^BusyError another process \(`serve` or `restore`\) is using .*mirror\.db; /)
    await first.kill()
    expect(isServeLockHeld(place.config)).toBe(false)
    const third = startChild('store/children/serve-lock.ts', [place.config.path])
    await third.says('held')
    await expect(acquireServeLock(place.config)).rejects.toThrow(/another process \(`serve` or `restore`\)/)
    third.tell('let go')
    await third.says('released')
    const lock = await acquireServeLock(place.config)
    expect(isServeLockHeld(place.config)).toBe(true)
    await expect(acquireServeLock(place.config)).rejects.toThrow(/another process \(`serve` or `restore`\)/)
    const fourth = startChild('store/children/serve-lock.ts', [place.config.path])
    await fourth.says('refused')
    lock.release()
    const fifth = startChild('store/children/serve-lock.ts', [place.config.path])
    await fifth.says('held')
    await fifth.kill()
    await place.remove()
  })

  it('leaves the database itself free', async () => {
    const place = newSqlite()
    const lock = await acquireServeLock(place.config)
    const db = await openAgain(place.config)
    await migrate(db)
    await db.close()
    lock.release()
    lock.release()
    await place.remove()
  })
})
