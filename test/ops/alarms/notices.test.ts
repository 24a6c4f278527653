import { sql } from 'kysely'
import { Webhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { AlarmWatch } from '../../../src/ops/alarms/alarm-watch.ts'
import type { AlarmMessage } from '../../../src/ops/alarms/message.ts'
import { BACKOFF_MS } from '../../../src/ops/alarms/notifier.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { listNotices } from '../../../src/store/operators/alarms.ts'
import { claimNotices, settleNotice } from '../../../src/store/operators/notices.ts'
import { hook } from '../../config/support.ts'
import { type Arrived, type Receiver, startReceiver } from '../../push/receiver.ts'
import { onSqlite, runSql, type TestDatabase } from '../../tools/databases.ts'
import { HOUR, MINUTE, openWatch, type WatchRig } from './rig.ts'

const SECRET = hook(5)
const signal = new AbortController().signal

interface TellingRig extends WatchRig {
  readonly receiver: Receiver
  dead(count: number): Promise<void>
  hurry(): Promise<void>
}

async function openTelling(database: TestDatabase, more: Readonly<Record<string, unknown>> = {}): Promise<TellingRig> {
  const receiver = await startReceiver()
  const operator = { name: 'oncall', kind: 'webhook', url: receiver.url, secret: '${ONCALL_SECRET}', allow_private: true, repeat: '1h' }
  const rig = await openWatch(database, { operators: [{ ...operator, ...more }] }, { ONCALL_SECRET: SECRET })
  const change = (statement: ReturnType<typeof sql>) => runSql(rig.db, statement)
  await change(sql`delete from sync_reads`)
  await rig.deliver(2)
  await change(sql`update sync_inbox set state = 'done'`)
  return {
    ...rig,
    receiver,
    async dead(count) {
      await change(sql`update sync_inbox set state = 'done'`)
      await change(sql`update sync_inbox set state = 'dead' where inbox_id <= ${count}`)
    },
    async hurry() {
      await change(sql`update sync_alert_messages set due_at = ${timeValue(rig.db.read, timeFromMs(0))}`)
    },
  }
}

function awayWhile(away: { readonly now: boolean }, db: Db): Db {
  const write = (...args: Parameters<Db['write']>) =>
    away.now ? Promise.reject(new TransientError('the disk is full')) : db.write(...args)
  return Object.create(db, { write: { value: write } })
}

/** Received messages. The signature is checked with the message's own time, since the test's clock is ahead. */
function messagesOf(arrived: readonly Arrived[]): (AlarmMessage & { readonly id: string })[] {
  const webhook = new Webhook(SECRET)
  return arrived.map(({ headers, body }) => {
    const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => String(headers[name]))
    expect(signature).toBe(webhook.sign(id ?? '', new Date(Number(timestamp) * 1_000), body))
    return { ...(JSON.parse(body) as AlarmMessage), id: id ?? '' }
  })
}

describe.each(onSqlite)('operators on $name', (database) => {
  it('get the start, the repeats and the end of an alarm, each once, signed', async () => {
    const rig = await openTelling(database)
    const notifier = rig.notifier()
    await rig.dead(1)
    await rig.look()
    expect(await notifier.sendDue(signal)).toBe(1)
    await rig.look()
    expect(await notifier.sendDue(signal)).toBe(0)
    expect((await rig.alarm('inbox_dead'))?.notified_at).not.toBeNull()
    await rig.look(HOUR)
    await notifier.sendDue(signal)
    await rig.dead(0)
    await rig.lookLater()
    await notifier.sendDue(signal)
    const [first, second, third, ...others] = messagesOf(rig.receiver.arrived)
    expect(others).toEqual([])
    expect([first?.type, second?.type, third?.type]).toEqual(['alarm.firing', 'alarm.repeated', 'alarm.resolved'])
    expect(first?.data).toEqual({
      name: 'inbox_dead',
      severity: 'warning',
      account: 'acme',
      destination: null,
      state: 'firing',
      since: expect.any(String),
      last_at: expect.any(String),
      resolved_at: null,
      text: '1 delivery of account acme is dead-lettered; fix the causes of the errors, then `submission-mirror inbox replay --account acme --state dead`',
      runbook: 'docker/warnings-service.md#a-delivery-is-dead',
    })
    expect(third?.data).toMatchObject({ state: 'resolved', since: first?.data.since, resolved_at: expect.any(String) })
    expect(new Set([first?.id, second?.id, third?.id]).size).toBe(3)
    await rig.look()
    expect(await listNotices(rig.db.read)).toEqual([])
  })

  it('get no second message about an alarm that is currently off', async () => {
    const rig = await openTelling(database)
    const notifier = rig.notifier()
    await rig.dead(1)
    await rig.look()
    await notifier.sendDue(signal)
    await rig.look(HOUR - 2 * MINUTE)
    await rig.dead(0)
    await rig.look(3 * MINUTE)
    expect(await notifier.sendDue(signal)).toBe(0)
    expect((await rig.alarm('inbox_dead'))?.state).toBe('resolved')
    await rig.dead(2)
    await rig.look()
    await notifier.sendDue(signal)
    expect(messagesOf(rig.receiver.arrived).map(({ type, data }) => [type, data.text.slice(0, 12)])).toEqual([
      ['alarm.firing', '1 delivery o'],
      ['alarm.repeated', '2 deliveries'],
    ])
  })

  it('get a message under the same id until it is accepted, from any process', async () => {
    const rig = await openTelling(database)
    rig.receiver.behave((_, response) => response.writeHead(500).end())
    await rig.dead(2)
    await rig.look()
    const counted: string[] = []
    const observer = {
      count: (name: string, labels = {}, by = 1) => void (by > 0 && counted.push(`${name} ${JSON.stringify(labels)}`)),
      time() {},
      set() {},
    }
    await rig.notifier(observer).sendDue(signal)
    expect(await rig.notifier().sendDue(signal)).toBe(0)
    expect(await listNotices(rig.db.read)).toMatchObject([{ attempts: 1, error: 'the recipient answered 500', outcome: null }])
    expect(counted).toEqual(['alert_messages_total {"operator":"oncall","outcome":"failed"}'])
    await rig.hurry()
    const lost = await claimNotices(rig.db, ['oncall'], 5, 0)
    expect(lost).toHaveLength(1)
    rig.receiver.behave((_, __, take) => take())
    await rig.hurry()
    await rig.notifier().sendDue(signal)
    const ids = rig.receiver.arrived.map(({ headers }) => headers['webhook-id'])
    expect(ids).toEqual([ids[0], ids[0]])
    expect(rig.receiver.arrived.map(({ body }) => body)).toEqual([rig.receiver.arrived[0]?.body, rig.receiver.arrived[0]?.body])
    const [notice] = lost
    if (notice) await settleNotice(rig.db, notice, { type: 'failed', attempts: 9, error: 'late', waitMs: null })
    expect(await listNotices(rig.db.read)).toMatchObject([{ outcome: 'sent', error: null }])
  })

  it('are retried until the last attempt, with any characters in the error', async () => {
    const rig = await openTelling(database)
    await rig.dead(1)
    await rig.look()
    const [notice] = await claimNotices(rig.db, ['oncall'], 5, 0)
    if (!notice) throw new Error('nothing is due')
    await settleNotice(rig.db, notice, { type: 'failed', attempts: 1, error: '550 \u0000 no \uD83D', waitMs: null })
    expect(await listNotices(rig.db.read)).toMatchObject([{ attempts: 1, error: '550 \uFFFD no \uFFFD', outcome: 'skipped' }])
  })

  it('follow no redirect, and say what to do about it', async () => {
    const rig = await openTelling(database)
    rig.receiver.behave((_, response) => response.writeHead(307, { location: 'https://elsewhere.test/' }).end())
    await rig.dead(1)
    await rig.look()
    await rig.notifier().sendDue(signal)
    const error = 'the recipient answered 307; redirects are not followed; set url to the redirect target'
    expect(await listNotices(rig.db.read)).toMatchObject([{ error }])
  })

  it('get no more attempts after seven, and new ones when it is time to repeat', async () => {
    const rig = await openTelling(database)
    rig.receiver.behave((_, response) => response.writeHead(404).end())
    await rig.dead(1)
    await rig.look()
    const notifier = rig.notifier()
    for (let tries = 0; tries < 10; tries++) {
      await rig.hurry()
      await notifier.sendDue(signal)
    }
    expect(rig.receiver.arrived).toHaveLength(BACKOFF_MS.length + 1)
    expect(await listNotices(rig.db.read)).toMatchObject([{ outcome: 'skipped', error: 'the recipient answered 404; check the URL' }])
    await rig.look(30 * MINUTE)
    expect(await notifier.sendDue(signal)).toBe(0)
    rig.receiver.behave((_, __, take) => take())
    await rig.look(31 * MINUTE)
    expect(await notifier.sendDue(signal)).toBe(1)
    expect(messagesOf(rig.receiver.arrived).at(-1)?.type).toBe('alarm.repeated')
  })

  it('get only the end if start and end were both unsent, and no end if they want none', async () => {
    const rig = await openTelling(database)
    await rig.dead(1)
    await rig.look()
    await rig.dead(0)
    await rig.lookLater()
    await rig.notifier().sendDue(signal)
    expect(messagesOf(rig.receiver.arrived).map(({ type }) => type)).toEqual(['alarm.resolved'])
    const quiet = await openTelling(database, { resolved: false })
    await quiet.dead(1)
    await quiet.look()
    await quiet.notifier().sendDue(signal)
    await quiet.dead(0)
    await quiet.lookLater()
    await quiet.notifier().sendDue(signal)
    expect(messagesOf(quiet.receiver.arrived).map(({ type }) => type)).toEqual(['alarm.firing'])
    expect(await listNotices(quiet.db.read)).toEqual([])
  })

  it('hear that the store is away from the process itself, and of its end from the store', async () => {
    const rig = await openTelling(database)
    const away = { now: true }
    const watch = new AlarmWatch({ ...rig.parts, db: awayWhile(away, rig.db) })
    const look = async (ms: number) => {
      rig.clock.advance(ms)
      await watch.evaluate(signal)
    }
    rig.receiver.behave((_, response) => response.writeHead(503).end())
    for (const ms of [0, 30_000, 30_000]) await look(ms)
    expect(rig.receiver.arrived).toHaveLength(1)
    rig.receiver.behave((_, __, take) => take())
    for (const ms of [30_000, 30_000, HOUR]) await look(ms)
    expect(messagesOf(rig.receiver.arrived.slice(1)).map(({ type }) => type)).toEqual(['alarm.firing', 'alarm.repeated'])
    rig.receiver.behave((_, response) => response.writeHead(503).end())
    await look(HOUR)
    rig.receiver.behave((_, __, take) => take())
    away.now = false
    await look(30_000)
    expect(await rig.notifier().sendDue(signal)).toBe(0)
    expect(await rig.alarm('store_unavailable')).toMatchObject({ state: 'firing', notified_at: expect.any(String) })
    for (const ms of [10_000, 6 * MINUTE]) await look(ms)
    expect(await rig.notifier().sendDue(signal)).toBe(1)
    expect(messagesOf(rig.receiver.arrived).at(-1)).toMatchObject({
      type: 'alarm.resolved',
      data: { name: 'store_unavailable', text: expect.stringContaining('the disk is full') },
    })
  })

  it('hear of the end also of an outage that only a process without alarm checks saw', async () => {
    const rig = await openTelling(database)
    await rig.look()
    const away = { now: true }
    const other = new AlarmWatch({ ...rig.parts, db: awayWhile(away, rig.db) })
    const bothLook = async () => {
      await rig.look()
      await other.evaluate(signal)
    }
    for (let looks = 0; looks < 3; looks++) await bothLook()
    expect(messagesOf(rig.receiver.arrived).map(({ type }) => type)).toEqual(['alarm.firing'])
    away.now = false
    await bothLook()
    expect(await rig.alarm('store_unavailable')).toMatchObject({ state: 'firing' })
    await rig.lookLater()
    expect(await rig.notifier().sendDue(signal)).toBe(1)
    expect(messagesOf(rig.receiver.arrived).map(({ type }) => type)).toEqual(['alarm.firing', 'alarm.resolved'])
  })

  it('hear that the store is away under one id, with pauses, until it is accepted or the attempts end', async () => {
    const rig = await openTelling(database)
    const watch = new AlarmWatch({ ...rig.parts, db: awayWhile({ now: true }, rig.db) })
    const lookFor = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 30_000) {
        rig.clock.advance(30_000)
        await watch.evaluate(signal)
      }
    }
    rig.receiver.behave((_, response) => response.destroy())
    await lookFor(HOUR)
    expect(rig.receiver.arrived).toHaveLength(5)
    rig.receiver.behave((_, response) => response.writeHead(503).end())
    await lookFor(4 * HOUR)
    expect(rig.receiver.arrived).toHaveLength(BACKOFF_MS.length + 1)
    expect(new Set(messagesOf(rig.receiver.arrived).map(({ id }) => id)).size).toBe(1)
    rig.receiver.behave((_, __, take) => take())
    await lookFor(2 * HOUR)
    const [first, ...later] = messagesOf(rig.receiver.arrived.slice(BACKOFF_MS.length))
    expect(later.map(({ type }) => type)).toEqual(['alarm.repeated', 'alarm.repeated'])
    expect(new Set([first, ...later].map((message) => message?.id)).size).toBe(3)
  })

  it('lose nothing when a process is asked to stop in the middle', async () => {
    const rig = await openTelling(database)
    await rig.dead(1)
    await rig.look()
    expect(await rig.notifier().sendDue(AbortSignal.abort())).toBe(1)
    expect(rig.receiver.arrived).toEqual([])
    await rig.hurry()
    expect(await rig.notifier().sendDue(signal)).toBe(1)
    expect(rig.receiver.arrived).toHaveLength(1)
  })
})
