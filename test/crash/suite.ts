import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { waitFor } from '../e2e/agreement.ts'
import { isNightly } from '../tools/nightly.ts'
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
import { CrashRig } from './rig.ts'
import { commentPoints, upkeepPoints } from './upkeep-points.ts'

const RANDOM_KILLS = isNightly ? 10 : 3
/** What a product has in its database grows with each point, and so does what is looked at after each. */
const POINTS_A_PRODUCT = 4
/** Of a machine that has much else to do. */
const TEST_MS = 180_000

type Group = readonly [string, readonly KillPoint[]]

/** When a process is killed: its transaction is undone, or nobody learns that it is made. */
type Moment = 'before-commit' | 'after-commit'

/** Which points of a group are tried in the proofs, by their place in it. Each night it is all of them. */
type Share = 'all' | 'even' | 'odd'

/** What the mirror, the outbox and the proof stand on. */
export const coreGroups: readonly Group[] = [
  ['a start', startPoints],
  ['taking and applying deliveries', inboxPoints],
  ['reading feeds and state', readPoints],
  ['minding the account', accountPoints],
  ['pushing', pushPoints],
  ['reconciling', reconcilePoints],
]

/** What only Postgres has. */
export const postgresGroups: readonly Group[] = [['keeping comments on tables', commentPoints]]

/** What operators ask for, or are told: transactions by themselves, which one database is enough to kill. */
export const operatorGroups: readonly Group[] = [
  ['looking for submissions', discoveryPoints],
  ['fetching documents', documentPoints],
  ['upkeep', upkeepPoints],
  ['admin routes', adminPoints],
  ['telling of alarms', alarmPoints],
]

/**
 * Takes the disk away from the product in the middle of every transaction of `groups`: each is told by whoever made it, leaves nothing half
 * done, and is made when there is room.
 */
export function fullDiskSuite(groups: readonly Group[], share: Share): void {
  describe.each(shareOf(groups, share))('without room on the disk at each commit of %s', (_, points) => {
    let rig: CrashRig
    beforeAll(async () => {
      rig = await openGroup(sqlitePlace(), points)
    }, TEST_MS)
    afterAll(() => rig.close())

    it.each(points)('$transaction', { timeout: TEST_MS }, async (point) => {
      const where = `${point.transaction}:before-commit 1 full`
      await provoke(rig, point, where)
      await rig.fullDisk(where)
      // An account that is stopped, and a receiver that misbehaves, hold up what is to come.
      if (accountPoints.includes(point) || pushPoints.includes(point)) await rig.settleAll()
    })

    it('and all is done in the end', { timeout: TEST_MS }, () => rig.settleAll())
  })
}

/**
 * Kills the product on one database at every point of `groups`, and at random moments.
 * @param proofs when, and at which points, in the proofs. Each night it is at all of them, before and after.
 */
export function crashSuite(
  name: string,
  place: () => Promise<CrashPlace>,
  groups: readonly Group[],
  proofs: { readonly moment: Moment; readonly share: Share },
): void {
  const isKilled = (at: Moment) => isNightly || at === proofs.moment
  describe.each(shareOf(groups, proofs.share).flatMap(inParts))(`killed on ${name} at each commit of %s`, (_, points) => {
    let rig: CrashRig
    beforeAll(async () => {
      rig = await openGroup(await place(), points)
    }, TEST_MS)
    afterAll(() => rig.close())

    it.each(points)('$transaction', { timeout: TEST_MS }, async (point) => {
      const isOfStart = startPoints.includes(point)
      if (isKilled('before-commit')) await killAt(rig, point, `${point.transaction}:before-commit 1 kill`)
      // What every start does needs no other start in between.
      if (isKilled('before-commit') && !isOfStart) await rig.recover()
      if (isKilled('after-commit')) await killAt(rig, point, `${point.transaction}:after-commit ${point.later ?? 1} kill`)
      if (isKilled('after-commit') || isOfStart) await rig.recover()
    })
  })

  it(`killed on ${name} at random moments under load`, { timeout: TEST_MS }, async () => {
    const rig = await CrashRig.open(await place(), await PushSide.open())
    try {
      await rig.start()
      for (let n = 0; n < RANDOM_KILLS; n++) {
        const before = rig.acknowledged.size
        const wanted = randomInt(1, 25)
        for (let each = 0; each < 4; each++) addWork(rig)
        for (const id of rig.sandbox.submissionIds(ACCOUNT).slice(0, 6)) addNews(rig, id)
        await waitFor(() => rig.acknowledged.size >= before + wanted, TEST_MS)
        for (let turns = randomInt(200); turns > 0; turns--) await new Promise(setImmediate)
        await rig.kill()
        await rig.recover()
      }
    } finally {
      await rig.close()
    }
  })
}

function shareOf(groups: readonly Group[], share: Share): Group[] {
  if (share === 'all' || isNightly) return [...groups]
  const rest = share === 'odd' ? 1 : 0
  return groups.map(([name, points]) => [name, points.length === 1 ? points : points.filter((_, place) => place % 2 === rest)])
}

/** The group, a few points a product. What starts do begins with an empty database, and stays together. */
function inParts([name, points]: Group): Group[] {
  if (areOfStart(points)) return [[name, points]]
  const parts = Array.from({ length: Math.ceil(points.length / POINTS_A_PRODUCT) }, (_, part) => part * POINTS_A_PRODUCT)
  return parts.map((from) => [name, points.slice(from, from + POINTS_A_PRODUCT)])
}

function areOfStart(points: readonly KillPoint[]): boolean {
  return points.every((point) => startPoints.includes(point))
}

async function openGroup(place: CrashPlace, points: readonly KillPoint[]): Promise<CrashRig> {
  const rig = await CrashRig.open(place, points.some((point) => pushPoints.includes(point)) ? await PushSide.open() : null)
  if (areOfStart(points)) return rig
  await rig.start()
  for (let n = 0; n < 3; n++) addWork(rig)
  await rig.settle()
  return rig
}

async function killAt(rig: CrashRig, point: KillPoint, where: string): Promise<void> {
  await provoke(rig, point, where)
  await rig.death(where)
}

/** Has the product come to the point, armed there. */
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
