import { expect, it } from 'vitest'
import type { Clock } from '../../src/base/clock.ts'
import { optionalReads } from '../../src/model/reads.ts'
import { ReadSwitches } from '../../src/poll/read-switches.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { listReadsOff } from '../../src/store/reads/reads-off.ts'
import { silentLog, sqliteDatabase } from '../tools/databases.ts'
import { Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

function over<T extends object>(object: T, others: Partial<T>): T {
  return new Proxy(object, {
    get(target, key) {
      if (key in others) return Reflect.get(others, key)
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function readSubmissions(rig: Rig, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => rig.sandbox.addSubmission(ACCOUNT))
  await rig.track(ids)
  const poller = await rig.poll()
  await poller.stop()
  return ids
}

/** The second read of the database ends when `open` resolves. `asked` resolves when it starts. */
function slowAtSecond(db: Db, open: Promise<void>): { readonly db: Db; readonly asked: Promise<void> } {
  const asked = Promise.withResolvers<void>()
  let reads = 0
  const sql = db.read.sql.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      reads += 1
      if (reads === 2) {
        asked.resolve()
        await open
      }
      return result
    },
  })
  return { db: over(db, { read: over(db.read, { sql }) }), asked: asked.promise }
}

it('a read switched off during a lookup is on again with the first answer', async () => {
  const rig = await Rig.open(sqliteDatabase)
  const ids = await readSubmissions(rig, 3)
  const open = Promise.withResolvers<void>()
  const looked = Promise.withResolvers<void>()
  const { db, asked } = slowAtSecond(rig.db, open.promise)
  const sleep = (_ms: number, signal?: AbortSignal) => {
    looked.resolve()
    return new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()))
  }
  const clock: Clock = over(rig.db.clock, { sleep })
  const switches = new ReadSwitches({ account: ACCOUNT, db, clock, log: silentLog, wanted: optionalReads })
  const stop = new AbortController()
  const running = switches.run(stop.signal)
  await asked
  for (const id of ids) await switches.noteDeclined('bind_request', id, true)
  open.resolve()
  await looked.promise
  expect(switches.off).toContain('bind_request')
  await switches.noteRead('bind_request')
  expect(await listReadsOff(rig.db.read)).toEqual([])
  stop.abort()
  await running
})

it('refusals in flight when a read was switched off do not delay its next trial', async () => {
  const rig = await Rig.open(sqliteDatabase)
  const ids = await readSubmissions(rig, 6)
  const switches = new ReadSwitches({ account: ACCOUNT, db: rig.db, clock: rig.db.clock, log: silentLog, wanted: optionalReads })
  await Promise.all(ids.slice(0, 5).map((id) => switches.noteDeclined('bind_request', id, true)))
  const before = await listReadsOff(rig.db.read)
  expect(before).toHaveLength(1)
  await switches.noteDeclined('bind_request', ids[5] ?? '', true)
  expect(await listReadsOff(rig.db.read)).toEqual(before)
})
