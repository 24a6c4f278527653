import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { ApiChangeRecorder } from '../../../src/ops/metrics/api-change-recorder.ts'
import { printerTo } from '../../../src/ops/operations/printer.ts'
import { operations } from '../../../src/ops/operations/status.ts'
import { apiChanges } from '../../../src/ops/status/api-changes.ts'
import { apiChangeCounts, MAX_API_CHANGES } from '../../../src/store/upkeep/api-changes.ts'
import { type OpenedDatabase, onSqlite, openAgain, silentLog } from '../../tools/databases.ts'
import { interrupted } from '../../tools/meddled.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const MINUTE = 60_000
const event = { id: '0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11', type: 'bound' }
const page = (...names: readonly string[]) => ({ events: [], next_cursor: null, ...Object.fromEntries(names.map((name) => [name, 'x'])) })

function printed(changes: Awaited<ReturnType<typeof apiChanges>>): string {
  const parts: string[] = []
  operations
    .find(({ name }) => name === 'status.api-changes')
    ?.print?.(
      printerTo((text) => parts.push(text), Date.now(), 120),
      changes,
      {},
    )
  return parts.join('')
}

describe.each(onSqlite)('API changes on $name', (database) => {
  let clock: ManualClock
  let opened: OpenedDatabase
  beforeEach(async () => {
    clock = new ManualClock(Math.floor(Date.now() / MINUTE) * MINUTE)
    opened = await database.open({ clock })
  })
  afterEach(async () => {
    await opened.close()
  })
  const items = async () => (await apiChanges(opened.db.read)).items

  it('is counted in memory, and added up over processes and time', async () => {
    const again = await closedAtEnd(openAgain(opened.config, { clock }))
    const [one, other] = [new ApiChangeRecorder(opened.db, silentLog), new ApiChangeRecorder(again, silentLog)]
    const begin = clock.now()
    one.look('acme', 'events', { events: [{ ...event, type: 'reinstated', region: 'x' }], next_cursor: null })
    expect(await items()).toEqual([])
    await one.write()
    clock.advance(MINUTE)
    other.look('acme', 'events', {
      events: [
        { ...event, region: 'y' },
        { ...event, region: 'z' },
      ],
      next_cursor: null,
    })
    other.look('acme', 'events', {
      events: [
        { ...event, region: 'y' },
        { ...event, region: 'z' },
      ],
      next_cursor: null,
    })
    await other.write()
    await other.write()
    const seen = { account: 'acme', resource: 'events', type: 'string' }
    const [first, last] = [timeFromMs(begin), timeFromMs(begin + MINUTE)]
    expect(await items()).toEqual([
      { ...seen, path: 'events[].region', kind: 'field', first_seen_at: first, last_seen_at: last, answers: 3 },
      { ...seen, path: 'events[].type', kind: 'value', first_seen_at: first, last_seen_at: first, answers: 1 },
    ])
    const text = printed(await apiChanges(opened.db.read))
    expect(text).toContain('events[].region')
    expect(text).toContain('value')
    expect(await apiChangeCounts(opened.db.read)).toEqual(
      expect.arrayContaining([
        { account: 'acme', kind: 'field', count: 1 },
        { account: 'acme', kind: 'value', count: 1 },
      ]),
    )
  })

  it('of a service that renames its fields each time fills no database, and known ones are still counted', async () => {
    const recorder = new ApiChangeRecorder(opened.db, silentLog)
    for (let turn = 0; turn < 3; turn++) {
      for (let i = 0; i < 50; i++) recorder.look('acme', 'events', page(...Array.from({ length: 8 }, (_, n) => `f${turn}_${i}_${n}`)))
      await recorder.write()
    }
    recorder.look('acme', 'events', page('f0_0_0', 'one_more'))
    recorder.look('other', 'events', page('fresh'))
    await recorder.write()
    const { items: stored, full } = await apiChanges(opened.db.read)
    expect(stored.filter(({ account }) => account === 'acme')).toHaveLength(MAX_API_CHANGES)
    expect(stored.find(({ path }) => path === 'f0_0_0')).toMatchObject({ answers: 2 })
    expect(stored.filter(({ account }) => account === 'other')).toHaveLength(1)
    expect(full).toEqual(['acme'])
    expect(printed({ items: stored, full })).toContain('Account acme has 1000 API changes')
    const away = new ApiChangeRecorder(
      interrupted(opened.db, () => Promise.reject(new Error('the database is away'))),
      silentLog,
    )
    for (let i = 0; i < 500; i++) away.look('acme', 'events', page(...Array.from({ length: 90 }, (_, n) => `m${i}_${n}`)))
    await away.write()
  })

  it('is written later when the database was away', async () => {
    let isAway = true
    const recorder = new ApiChangeRecorder(
      interrupted(opened.db, () => (isAway ? Promise.reject(new Error('the database is away')) : undefined)),
      silentLog,
    )
    recorder.look('acme', 'thread', { messages: [], next_cursor: null, mood: 'good' })
    await recorder.write()
    recorder.look('acme', 'thread', { messages: [], next_cursor: null, mood: 'good' })
    isAway = false
    await recorder.write()
    expect(await items()).toMatchObject([{ path: 'mood', answers: 2 }])
  })

  it('says so when there is none', () => {
    expect(printed({ items: [], full: [] })).toBe('No API changes: every answer matches the specification.\n')
  })
})
