import { mkdirSync, mkdtempSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { ScheduledBackups, type ScheduledBackupsOptions } from '../../../src/ops/backup/scheduled-backups.ts'
import { backupText } from '../../../src/ops/status/status-text.ts'
import { restoreSqlite } from '../../../src/store/backup/restore.ts'
import { firstEpochOf } from '../../../src/store/changes/log-divergence.ts'
import { listActions } from '../../../src/store/operators/actions.ts'
import { lastBackups } from '../../../src/store/operators/backups.ts'
import { lastUpkeep } from '../../../src/store/upkeep/upkeep.ts'
import { startChild } from '../../tools/child.ts'
import { openAgain, silentLog, sqliteDatabase } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { eventFacts, uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2026, 5, 15, 12)
const ALONE = ['mirror-20260615T020000Z.db']
const OWNER = 'mirror-of-backups.txt'
const never = new AbortController().signal

async function open(events = 3) {
  const clock = new ManualClock(NOON_MS)
  const { db, config, close } = await sqliteDatabase.open({ clock })
  const parent = mkdtempSync(join(tmpdir(), 'submission-mirror-backups-'))
  onTestFinished(async () => {
    await close()
    rmSync(parent, { recursive: true, force: true })
  })
  if (config.kind !== 'sqlite') throw new Error('the database is SQLite')
  const source = config.path
  await applyAll(db, eventFacts('acme', uuid(9, 1), events))
  const dir = join(parent, 'backups')
  const lines: string[] = []
  const log = createLog({ level: 'info', pretty: false, secrets: [], destination: { write: (line: string) => void lines.push(line) } })
  const timetable = (settings: Partial<ScheduledBackupsOptions['settings']> = {}, other: Partial<ScheduledBackupsOptions> = {}) =>
    new ScheduledBackups({
      db,
      clock,
      log,
      source,
      settings: { cron: '0 2 * * *', timeZone: 'UTC', dir, keep: 2, keepDays: null, ...settings },
      ...other,
    })
  const logged = () => lines.map((line) => JSON.parse(line) as { level: number; msg: string })
  const files = () =>
    readdirSync(dir)
      .filter((name) => name !== OWNER)
      .sort()
  return { db, clock, source, dir, parent, logged, timetable, files }
}

async function appears(dir: string, part: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const watching = watch(dir, (_, name) => name?.includes(part) && resolve())
  await promise
  watching.close()
}

async function reasonOf({ db }: Awaited<ReturnType<typeof open>>): Promise<string> {
  return (await lastUpkeep(db.read, 'backup'))?.waits_for ?? ''
}

describe('backups by a timetable', () => {
  it('are made once for each time, restored on trial, and kept by number and age', async () => {
    const { db, clock, dir, files, logged, timetable } = await open()
    expect(await timetable().runIfDue(never)).toBe('ran')
    expect(await timetable().runIfDue(never)).toBe('done')
    writeFileSync(join(dir, 'mirror-by-hand.db'), 'mine')
    for (let day = 1; day <= 3; day++) {
      clock.advance(DAY_MS)
      expect(await timetable().runIfDue(never)).toBe('ran')
    }
    const last = ['mirror-20260617T020000Z.db', 'mirror-20260618T020000Z.db']
    expect(files()).toEqual([...last, 'mirror-by-hand.db'])
    expect(logged().at(-1)?.msg).toMatch(
      /^backup: .*\/mirror-20260618T020000Z\.db \(.* MB\), verified and test-restored; removed 1 older copy$/,
    )
    clock.advance(DAY_MS)
    expect(await timetable({ keep: 1, keepDays: 2 }).runIfDue(never)).toBe('ran')
    expect(files()).toEqual(['mirror-20260618T020000Z.db', 'mirror-20260619T020000Z.db', 'mirror-by-hand.db'])
    const { made_at, bytes, tried_at } = await lastBackups(db.read)
    expect([made_at, tried_at]).toEqual(['2026-06-19T12:00:00.000000Z', '2026-06-19T12:00:00.000000Z'])
    expect(bytes).toBeGreaterThan(0)
    const actions = await listActions(db.read, { who: 'schedule' }, 3)
    expect(actions.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual(['backup.try done', 'backup done', 'backup.try done'])
  })

  it('are due again under other settings, without another copy of the same time', async () => {
    const { db, clock, files, timetable } = await open()
    expect(await timetable().runIfDue(never)).toBe('ran')
    const { made_at } = await lastBackups(db.read)
    clock.advance(1_000)
    expect(await timetable({ keep: 1 }).runIfDue(never)).toBe('ran')
    expect(files()).toEqual(ALONE)
    expect(await lastBackups(db.read)).toMatchObject({ made_at, tried_at: '2026-06-15T12:00:01.000000Z' })
  })

  it('that cannot be restored delete no older one, and are reported in one sentence', async () => {
    const rig = await open()
    expect(await rig.timetable({ keep: 1 }).runIfDue(never)).toBe('ran')
    rig.clock.advance(DAY_MS)
    const next = join(rig.dir, 'mirror-20260616T020000Z.db')
    writeFileSync(next, 'bytes that were a database')
    const timetable = rig.timetable({ keep: 1 })
    for (let n = 0; n < 2; n++) expect(await timetable.runIfDue(never)).toBe('failed')
    expect(rig.files()).toEqual([...ALONE, 'mirror-20260616T020000Z.db'])
    expect(await reasonOf(rig)).toMatch(
      /^.*0616T020000Z\.db cannot be restored: it is damaged or not an SQLite database \(.*\); name another backup; nothing was changed$/,
    )
    expect(rig.logged().filter(({ level }) => level === 50)).toHaveLength(1)
    rmSync(next)
    expect(await timetable.runIfDue(never)).toBe('ran')
    expect(rig.files()).toEqual(['mirror-20260616T020000Z.db'])
    expect(await reasonOf(rig)).toBe('')
  })

  it('fail next to the copies of another mirror, which stay, and continue when the copies are deleted', async () => {
    const [lost, rig] = [await open(), await open()]
    const shared = { dir: lost.dir, keep: 1 }
    expect(await lost.timetable(shared).runIfDue(never)).toBe('ran')
    rig.clock.advance(DAY_MS)
    for (const _ of ['at its time', 'again']) expect(await rig.timetable(shared).runIfDue(never)).toBe('failed')
    expect(lost.files()).toEqual(ALONE)
    expect(await reasonOf(rig)).toMatch(
      /\/backups contains the backups of another mirror \(its mirror-of-backups\.txt names \S+, and this mirror is \S+\): check DATABASE_URL, .* no backup was made or removed$/,
    )
    rmSync(join(lost.dir, OWNER))
    expect(await rig.timetable(shared).runIfDue(never)).toBe('failed')
    expect(await reasonOf(rig)).toMatch(/\/backups contains backups but no mirror-of-backups\.txt with their mirror: check /)
    rmSync(join(lost.dir, ALONE[0] ?? ''))
    expect(await rig.timetable(shared).runIfDue(never)).toBe('ran')
    expect(await reasonOf(rig)).toBe('')
    lost.clock.advance(DAY_MS)
    expect(await lost.timetable(shared).runIfDue(never)).toBe('failed')
  })

  it('continue in their folder after one of them was restored', async () => {
    const rig = await open()
    expect(await rig.timetable().runIfDue(never)).toBe('ran')
    const restored = { kind: 'sqlite', path: join(rig.parent, 'restored.db') } as const
    await restoreSqlite(restored, join(rig.dir, ALONE[0] ?? ''), { clock: rig.clock, log: silentLog, who: 'command' })
    rig.clock.advance(DAY_MS)
    const db = await closedAtEnd(openAgain(restored))
    expect(await rig.timetable({}, { db, source: restored.path }).runIfDue(never)).toBe('ran')
    expect(rig.files()).toHaveLength(2)
  })

  it('say which folder cannot be made', async () => {
    const rig = await open()
    writeFileSync(rig.dir, 'in the way')
    expect(await rig.timetable().runIfDue(never)).toBe('failed')
    expect(await reasonOf(rig)).toMatch(
      /^the folder .*\/backups cannot be created \(EEXIST.*\); create it, or set BACKUP_DIR to another folder$/,
    )
  })

  it('leave nothing on a full disk, keep existing copies, and say so in one sentence', async () => {
    const rig = await open(4_000)
    mkdirSync(rig.dir)
    writeFileSync(join(rig.dir, OWNER), await firstEpochOf(rig.db.read))
    writeFileSync(join(rig.dir, 'mirror-20200101T020000Z.db'), 'an older copy')
    const database = new Database(rig.source)
    await until('the log is empty', () => (database.pragma('wal_checkpoint(truncate)') as { busy: number }[])[0]?.busy === 0)
    database.close()
    const child = startChild('ops/backup/children/turn.ts', [String(NOON_MS), rig.source, rig.dir], 'ulimit -S -f 4000')
    await child.says('failed')
    expect(await child.says('because')).toMatch(
      /^no backup was made: .*\/backups\/mirror-\d{8}T020000Z\.db cannot be (?:read or )?written: the disk .*$/,
    )
    expect(rig.files()).toEqual(['mirror-20200101T020000Z.db'])
  })

  it('of a killed process are made by the next one, which cleans up', async () => {
    const rig = await open(4_000)
    mkdirSync(rig.dir)
    expect(await startChild('ops/backup/children/turn.ts', [String(NOON_MS), rig.source, rig.dir, '.trial-']).ended()).toBe(null)
    expect(rig.files().some((name) => name.includes('.trial-'))).toBe(true)
    writeFileSync(join(rig.dir, `${rig.files()[0]}.partial-0a0b0c0d`), 'half a copy')
    expect(await rig.timetable().runIfDue(never)).toBe('held')
    rig.clock.advance(120_000)
    expect(await rig.timetable().runIfDue(never)).toBe('ran')
    expect(rig.files()).toEqual(ALONE)
    expect((await listActions(rig.db.read, { action: 'backup.try' }, 9)).map(({ outcome }) => outcome)).toEqual(['done', 'begun'])
  })

  it('stop with the program, and leave nothing behind', async () => {
    const rig = await open(4_000)
    mkdirSync(rig.dir)
    const stopping = new AbortController()
    const begun = appears(rig.dir, '.partial-')
    const turn = rig.timetable().runIfDue(stopping.signal)
    await begun
    stopping.abort(new Error('the process is stopping'))
    expect(await turn).toBe('stopped')
    expect(rig.files().filter((name) => !ALONE.includes(name))).toEqual([])
    expect(await rig.timetable().runIfDue(never)).toBe('ran')
  })
})

describe('the last backup, as `status` shows it', () => {
  it.each([
    [{ made_at: null, bytes: null, tried_at: null }, 'There is no backup yet.\n'],
    [
      { made_at: '2026-06-15T09:00:00.000000Z', bytes: 12 << 20, tried_at: null },
      'Last backup 3 h ago (12 MiB); no backup was test-restored.\n',
    ],
    [
      { made_at: '2026-06-15T09:00:00.000000Z', bytes: 12 << 20, tried_at: '2026-06-13T09:00:00.000000Z' },
      'Last backup 3 h ago (12 MiB); last test restore 2 d ago.\n',
    ],
    [null, ''],
  ] as const)('%j', (backup, text) => {
    expect(backupText({ backup }, NOON_MS)).toBe(text)
  })
})
