import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import type { WebhookDestination } from '../../../src/config/config.ts'
import type { ActionContext } from '../../../src/ops/actions/context.ts'
import { prepareResend, type ResendRequest, resend } from '../../../src/ops/actions/resend.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { beginPurge } from '../../../src/store/mirror/purge.ts'
import { auditAction, listActions } from '../../../src/store/operators/actions.ts'
import { ensureDestinations, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { claimStreams } from '../../../src/store/outbox/work.ts'
import { oldestNeeded } from '../../../src/store/upkeep/needed-changes.ts'
import { Hooks } from '../../push/hooks.ts'
import { counters, fanAll, outboxOf, result, settleEach, streamsIn } from '../../push/outbox.ts'
import { PushRig, SECRET, webhookTo } from '../../push/rig.ts'
import { runSql, type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import {
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'default'
const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]

function contextOf(db: Db): ActionContext {
  const clock = { ...systemClock, sleep: async () => undefined }
  return { db, clock, signal: new AbortController().signal, observer: silentObserver, who: 'alice' }
}

function asked(selection: ResendRequest['selection'], newIds = false): ResendRequest {
  const words = Object.fromEntries(Object.entries(selection).map(([key, value]) => [key, String(value)]))
  return { selection, asked: words, newIds }
}

async function send(db: Db, destination: WebhookDestination, request: ResendRequest): Promise<number> {
  const a = contextOf(db)
  return await resend(a, await prepareResend(a, { destinations: [destination] }, destination.name, request))
}

async function deliverAll(db: Db, destination: string): Promise<void> {
  for (;;) {
    const streams = await claimStreams(db, destination, { streams: 50, rowsPerStream: 400, leaseMs: 60_000, uncertain: false })
    if (streams.length === 0) return
    await settleEach(db, streams, (stream) => result(stream, 'delivered'))
  }
}

async function delivered(database: TestDatabase, count: number, over: Partial<WebhookDestination> = {}) {
  const opened = await closedAtEnd(database.open())
  const { db } = opened
  const ams = webhookTo('http://127.0.0.1:9/', { backfill: true, start: 0, ...over })
  await ensureDestinations(db, [ams])
  for (let n = 0; n < count; n += 25) {
    const some = Array.from({ length: Math.min(25, count - n) }, (_, at) => n + at)
    await applyAll(
      db,
      some.flatMap((at) => [observedEvent(ACCOUNT, ONE, wireEvent(at)), observedEvent(ACCOUNT, TWO, wireEvent(10_000 + at))]),
    )
  }
  await fanAll(db, [ams])
  await deliverAll(db, 'ams')
  return { db, ams }
}

describe.each(testDatabases)('resending to a destination on $name', (database) => {
  it('sends delivered changes again in order, with the same ids or new ones', async () => {
    const rig = await PushRig.open(database)
    const hooks = await closedAtEnd(Hooks.start(SECRET))
    const ams = webhookTo(hooks.urlOf('ams'), { backfill: true })
    await rig.begin(ams)
    rig.start([ams])
    await rig.apply([1, 2, 3].map((n) => observedEvent(ACCOUNT, ONE, wireEvent(n))))
    await rig.apply([observedMessage(ACCOUNT, TWO, wireMessage(1)), observedState(ACCOUNT, ONE, wireRequirements(ONE, [wireLane(1)]), 1)])
    await rig.until('everything is sent', () => rig.isEmpty())
    const first = hooks.takenBy('ams').length
    const idsOf = (from: number, to?: number) => hooks.takenBy('ams').slice(from, to)
    expect(await send(rig.db, ams, asked({ submissionId: ONE }))).toBeGreaterThan(3)
    await rig.until('it is sent again', () => rig.isEmpty())
    const again = hooks.takenBy('ams').length
    const ofOne = (await changesOf(rig.db)).filter(({ submission_id }) => submission_id === ONE).map(({ seq }) => seq)
    const seqs = hooks.arrivals.slice(first).map(({ body }) => (JSON.parse(body) as { data: { seq: number } }).data.seq)
    expect(seqs).toEqual(ofOne)
    const ids = idsOf(first)
    expect(ids.every((id) => idsOf(0, first).includes(id))).toBe(true)
    await send(rig.db, ams, asked({ submissionId: ONE }, true))
    await rig.until('it is sent as new', () => rig.isEmpty())
    const renewed = idsOf(again)
    expect(renewed).toHaveLength(ids.length)
    expect(new Set([...idsOf(0, first), ...renewed]).size).toBe(first + renewed.length)
    expect((await counters(rig.db, 'ams')).kept).toEqual([0, 0, 0])
  })

  it('counts first, and excludes filtered and purged changes', async () => {
    const { db, ams } = await delivered(database, 10)
    const last = (await changesOf(db)).at(-1)?.seq ?? 0
    await beginPurge(db, { account: ACCOUNT, submissionId: TWO })
    const events = { ...ams, entities: ['market_events'] }
    const a = contextOf(db)
    const { plan, notes } = await prepareResend(a, { destinations: [events] }, 'ams', asked({ seq: [1, last] }))
    expect(plan).toMatchObject({ changes: 10, submissions: 1, waiting: 0, deadLettered: 0, unknown: 0, changedSince: 0 })
    const all = await changesOf(db)
    const gone = all.filter(({ submission_id, operation }) => submission_id === TWO && operation !== 'purged').length
    expect([plan.purged, plan.filtered]).toEqual([gone, last - gone - 10])
    const left = `${plan.filtered} changes? excluded by the current filters.*${gone} changes excluded because the submission was purged`
    expect(notes.join('\n')).toMatch(new RegExp(left, 's'))
    expect(await outboxOf(db)).toHaveLength(last)
    expect(await send(db, events, asked({ seq: [1, last] }))).toBe(10)
    const rows = (await outboxOf(db)).slice(last)
    expect(new Set(rows.map((row) => [row.submission_id, row.entity].join()))).toEqual(new Set([`${ONE},market_events`]))
    const [note] = await listActions(db.read, {}, 1)
    const done = { action: 'destination.resend', target: 'ams', outcome: 'done', detail: { queued: 10, seq: `1,${last}` } }
    expect(note).toMatchObject({ who: 'alice', ...done })
    // As after a purge, if the submission is tracked again.
    await runSql(db, sql`update changes set before = null, after = '{}' where submission_id = ${ONE}`)
    const { plan: emptied } = await prepareResend(a, { destinations: [events] }, 'ams', asked({ seq: [1, last] }))
    expect([emptied.changes, emptied.purged]).toEqual([0, all.filter(({ operation }) => operation !== 'purged').length])
  })

  it('notes queued changes, later changes, a pause, and a destination that is not idempotent', async () => {
    const { db, ams } = await delivered(database, 3, { idempotent: false })
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(77))])
    await fanAll(db, [ams])
    await setDestinationState(db, 'ams', 'paused', 'by an operator')
    const { plan, notes } = await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', asked({ seq: [1, 6] }))
    expect(plan.changedSince).toBe(2)
    expect(notes.join('\n')).toMatch(/twice.*2 submissions changed later.*is paused; to send the changes/s)
    const whole = await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', asked({ entity: 'market_events' }))
    expect(whole.plan).toMatchObject({ changes: 7, waiting: 1, changedSince: 0 })
  })

  it('notes where the change log begins', async () => {
    const { db, ams } = await delivered(database, 3)
    await db.write('test', async (tx) => {
      await tx.sql.deleteFrom('changes').where('seq', '<=', 4).execute()
      await tx.sql.updateTable('mirror_info').set({ first_seq: 5 }).execute()
    })
    const plans = [asked({ seq: [2, 6] }), asked({ submissionId: ONE }), asked({ since: '2020-01-01T00:00:00.000000Z' })]
    for (const request of plans) {
      const { plan, notes } = await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', request)
      expect(plan.firstSeq).toBeGreaterThan(4)
      expect(notes.join('\n')).toContain('the change log begins at change 5')
    }
    const inside = await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', asked({ seq: [6, 7] }))
    expect(inside.notes.join('\n')).not.toContain('the change log begins')
  })

  it('keeps the changes in the log until they are sent again', async () => {
    const { db, ams } = await delivered(database, 3)
    await send(db, ams, asked({ seq: [4, 5] }))
    await send(db, ams, asked({ seq: [2, 2] }))
    expect(await oldestNeeded(db.read, ['ams'])).toBe(2)
    await deliverAll(db, 'ams')
    expect(await oldestNeeded(db.read, ['ams'])).toBe((await changesOf(db)).length + 1)
  })

  it('rejects an unknown destination, and one during its snapshot', async () => {
    const { db, ams } = await delivered(database, 1)
    const later = { ...ams, name: 'later', start: 'snapshot' as const }
    const prepare = (name: string) => prepareResend(contextOf(db), { destinations: [ams, later] }, name, asked({ seq: [1, 1] }))
    await expect(prepare('other')).rejects.toThrow(/no destination "other"/)
    await expect(prepare('later')).rejects.toThrow(/unknown destination "later"/)
    await ensureDestinations(db, [later])
    await expect(prepare('later')).rejects.toThrow(/the snapshot for destination later is in progress/)
  })

  it('killed at any moment, it has queued each change at most once, and the same request completes it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5 }), fc.boolean(), fc.boolean(), async (at, isCommitted, newIds) => {
        const { db, ams } = await delivered(database, 260)
        const before = (await outboxOf(db)).length
        let n = 0
        const dying = meddled(db, async (name, go) => {
          const isHere = name === 'push-resend' && ++n === at
          if (isHere && !isCommitted) throw new Error('killed')
          const done = await go()
          if (isHere) throw new Error('killed')
          return done
        })
        const request = asked({ entity: 'market_events' }, newIds)
        const killed = await send(dying, ams, request).then(
          () => false,
          () => true,
        )
        const { plan, continues } = await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', request)
        const half = (await outboxOf(db)).length - before
        expect(continues?.queued ?? null).toBe(killed ? half : null)
        expect(half + plan.changes).toBe(killed ? 520 : 1_040)
        const a = contextOf(db)
        const both = await Promise.all([1, 2].map(() => prepareResend(a, { destinations: [ams] }, 'ams', request)))
        if (killed) await Promise.all(both.map((prepared) => resend(a, prepared)))
        const rows = (await outboxOf(db)).slice(before)
        const wanted = (await changesOf(db)).filter(({ entity }) => entity === 'market_events').map(({ seq }) => seq)
        expect(rows.map(({ seq }) => seq)).toEqual(wanted)
        expect(new Set(rows.map(({ message_id }) => message_id)).size).toBe(wanted.length)
        const { kept, counted } = await counters(db, 'ams')
        expect(kept).toEqual(counted)
        expect(new Set((await streamsIn(db)).map(({ stream }) => stream))).toEqual(new Set([ONE, TWO]))
        expect((await listActions(db.read, { action: 'destination.resend' }, 9)).map(({ outcome }) => outcome)).toEqual(['done'])
        expect((await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', request)).continues).toBeNull()
      }),
      { numRuns: 4, examples: [[2, true, true] as [number, boolean, boolean], [3, false, false]] },
    )
  }, 120_000)

  it('notes another unfinished resend', async () => {
    const { db, ams } = await delivered(database, 2)
    const note = { who: 'bob', action: 'destination.resend', target: 'ams', detail: {} }
    await auditAction(db, note, async () => {
      const { notes, continues } = await prepareResend(contextOf(db), { destinations: [ams] }, 'ams', asked({ seq: [1, 2] }))
      expect(continues).toBeNull()
      expect(notes.join('\n')).toMatch(/another resend to ams by bob/)
      return { detail: {} }
    })
  })
})
