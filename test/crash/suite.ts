import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isNightly } from '../tools/nightly.ts'
import { until } from '../tools/until.ts'
import { adminPoints } from './admin-points.ts'
import { alarmPoints } from './alarm-points.ts'
import { ACCOUNT } from './checks.ts'
import { discoveryPoints } from './discovery-points.ts'
import { documentPoints } from './document-points.ts'
import { addNews, addWork } from './load.ts'
import { type CrashPlace, sqlitePlace } from './place.ts'
import { accountPoints, inboxPoints, type KillPoint, readPoints, startPoints } from './points.ts'
import { pushPoints } from './push-points.ts'
import { PushSide } from './push-side.ts'
import { reconcilePoints } from './reconcile-points.ts'
import { CrashRig, type Home } from './rig.ts'
import { commentPoints, markPoints, upkeepPoints } from './upkeep-points.ts'

const RANDOM_KILLS = isNightly ? 10 : 3
/** The database and its checks grow with each point. */
const POINTS_A_PRODUCT = 4

type Group = readonly [string, readonly KillPoint[]]

/** The transaction is undone, or its result is never reported. */
type Moment = 'before-commit' | 'after-commit'
const moments: readonly Moment[] = isNightly ? ['before-commit', 'after-commit'] : ['before-commit']

export const coreGroups: readonly Group[] = [
  ['a start', startPoints],
  ['taking and applying deliveries', inboxPoints],
  ['reading feeds and state', readPoints],
  ['minding the account', accountPoints],
  ['pushing', pushPoints],
  ['reconciling', reconcilePoints],
]

export const postgresGroups: readonly Group[] = [['keeping comments on tables', commentPoints]]
export const sqliteGroups: readonly Group[] = [['keeping the file beside the database', markPoints]]

export const adminGroup: Group = ['admin routes', adminPoints]

export const operatorGroups: readonly Group[] = [
  ['looking for submissions', discoveryPoints],
  ['fetching documents', documentPoints],
  ['upkeep', upkeepPoints],
  adminGroup,
  ['telling of alarms', alarmPoints],
]

/**
 * Fills the disk in the middle of every transaction of `groups`. Each reports it, leaves nothing half done, and completes once there is
 * room.
 */
export function fullDiskSuite(groups: readonly Group[]): void {
  describe.each(groups.map((group) => oneIn(2, group)))('without room on the disk at each commit of %s', (_, points) => {
    let rig: CrashRig
    beforeAll(async () => {
      rig = await openRig(sqlitePlace(), points, 'processes')
      await begin(rig, points)
    })
    afterAll(() => rig?.close())

    it.each(points)('$transaction', async (point) => {
      const where = `${point.transaction}:before-commit 1 full`
      await provoke(rig, point, where)
      await rig.fullDisk(where)
      // A stopped account or a failing receiver would hold up the next points.
      if (accountPoints.includes(point) || pushPoints.includes(point)) await rig.settleAll()
    })

    it('and all is done in the end', () => rig.settleAll())
  })
}

/**
 * Kills the product at every `nth` point of `sets` before the commit, in the test's process; in a separate process after one commit of each
 * group and at random moments. Nightly runs use separate processes, all points, before and after each commit.
 */
export function crashSuite(name: string, place: () => Promise<CrashPlace>, sets: readonly (readonly Group[])[], nth: number): void {
  const groups = sets.flat().map((group) => oneIn(nth, group))
  describe.each(groups.flatMap(inParts))(`killed on ${name} at each commit of %s`, (_, points) => {
    let rig: CrashRig
    beforeAll(async () => {
      rig = await openRig(await place(), points, isNightly ? 'processes' : 'here')
      await begin(rig, points)
    })
    afterAll(() => rig?.close())

    it.each(points)('$transaction', async (point) => {
      for (const moment of moments) {
        await killAt(rig, point, moment)
        // Points of a start need no extra start in between.
        if (moment === moments.at(-1) || !startPoints.includes(point)) await rig.recover()
      }
    })
  })

  // A settings file with accounts can't also name destinations.
  for (const set of isNightly ? [] : sets) {
    it(`a process killed on ${name} after a commit of ${set[0]?.[0]}, and of others`, async () => {
      // The first transaction of a start happens only once.
      const points = set.map(([, [point, second = point]]) => second as KillPoint)
      const rig = await openRig(await place(), points, 'processes')
      try {
        await begin(rig, points)
        for (const point of points) {
          await killAt(rig, point, 'after-commit')
          await rig.recover()
        }
      } finally {
        await rig.close()
      }
    })
  }

  it(`killed on ${name} at random moments under load`, async () => {
    const rig = await CrashRig.open(await place(), await PushSide.open())
    try {
      await rig.start()
      for (let n = 0; n < RANDOM_KILLS; n++) {
        const before = rig.acknowledged.size
        const wanted = randomInt(1, 25)
        for (let each = 0; each < 4; each++) addWork(rig)
        for (const id of rig.sandbox.submissionIds(ACCOUNT).slice(0, 6)) addNews(rig, id)
        await until(`${wanted} more are acknowledged`, () => rig.acknowledged.size >= before + wanted)
        for (let turns = randomInt(200); turns > 0; turns--) await new Promise(setImmediate)
        await rig.kill()
        await rig.recover()
      }
    } finally {
      await rig.close()
    }
  })
}

/** Every nth point of a group; all at night. */
function oneIn(n: number, [name, points]: Group): Group {
  return [name, isNightly || points.length < n ? points : points.filter((_, place) => place % n === n - 1)]
}

/** Splits a group into a few points for each product. Points of a start begin with an empty database. */
function inParts([name, points]: Group): Group[] {
  if (areOfStart(points)) return [[name, points]]
  const parts = Array.from({ length: Math.ceil(points.length / POINTS_A_PRODUCT) }, (_, part) => part * POINTS_A_PRODUCT)
  return parts.map((from) => [name, points.slice(from, from + POINTS_A_PRODUCT)])
}

function areOfStart(points: readonly KillPoint[]): boolean {
  return points.every((point) => startPoints.includes(point))
}

async function openRig(place: CrashPlace, points: readonly KillPoint[], home: Home): Promise<CrashRig> {
  return await CrashRig.open(place, points.some((point) => pushPoints.includes(point)) ? await PushSide.open() : null, home)
}

/** Starts the product with some work. Points of a start begin with an empty database. */
async function begin(rig: CrashRig, points: readonly KillPoint[]): Promise<void> {
  if (areOfStart(points)) return
  await rig.start()
  for (let n = 0; n < 3; n++) addWork(rig)
  await rig.settle()
}

async function killAt(rig: CrashRig, point: KillPoint, moment: Moment): Promise<void> {
  const where = `${point.transaction}:${moment} ${point.later ?? 1} kill`
  const noted = await timesNoted(rig, point)
  await provoke(rig, point, where)
  await rig.death(where)
  // A failing receiver recovers before the next start.
  if (rig.push instanceof PushSide) rig.push.hooks.mishap = () => 'take'
  if (point.action) expect(await timesNoted(rig, point), point.action).toBe(noted + (moment === 'after-commit' ? 1 : 0))
}

async function timesNoted(rig: CrashRig, { action }: KillPoint): Promise<number> {
  if (!action) return 0
  const { read } = await rig.store()
  return (await read.sql.selectFrom('operator_actions').select('action_id').where('action', '=', action).execute()).length
}

async function provoke(rig: CrashRig, point: KillPoint, where: string): Promise<void> {
  if (point.before) {
    await rig.end()
    await point.before(rig)
    await rig.start(where, point.settings?.(rig), point.faults)
  } else {
    await rig.arm(where)
    await point.provoke?.(rig)
  }
}
