import { describe, expect, it } from 'vitest'
import { type Clock, ManualClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { attempt, attemptFeed } from '../../../src/reconcile/check/attempts.ts'
import { listFindings } from '../../../src/store/reconcile/findings.ts'
import type { UpstreamClient } from '../../../src/upstream/client.ts'
import { AuthRefusedError, UpstreamPermanentError, UpstreamTransientError } from '../../../src/upstream/http/errors.ts'
import { onSqlite, sqliteDatabase } from '../../tools/databases.ts'
import { hastyClock } from '../../tools/hasty-clock.ts'
import { ACCOUNT, RunRig } from '../rig.ts'

const SLOW_MS = 15_000

it.each(onSqlite)('each page of a long feed is retried separately, on $name', async (database) => {
  const rig = await RunRig.open(database, 1)
  const id = rig.ids[0] as string
  rig.sandbox.addEvents(
    ACCOUNT,
    id,
    Array.from({ length: 450 }, () => ({ type: 'status_changed' })),
  )
  let late = 0
  let pages = 0
  const clock = { ...hastyClock, now: () => Date.now() + late }
  const client = {
    ...rig.client,
    events: async (...asked: Parameters<typeof rig.client.events>) => {
      pages += 1
      late += pages % 2 === 0 ? 0 : SLOW_MS
      // Every second page fails.
      if (pages % 2 === 1) rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'events', count: 1 })
      return await rig.client.events(...asked)
    },
  }
  const run = await rig.reconcile({}, { client, clock })
  expect(run).toMatchObject({ exit_code: 0, unreadable: 0 })
  expect(pages).toBe(10)
})

it.each([
  ['3 attempts', {}],
  ['1 attempt', { waitMs: () => 60_000 }],
] as const)('a finding contains the number of attempts: %s', async (attempts, waiting) => {
  const rig = await RunRig.open(sqliteDatabase, 1)
  await rig.reconcile()
  rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'thread' })
  const run = await rig.reconcile({ no_state: true }, { client: { ...rig.client, ...waiting }, clock: hastyClock })
  expect(run).toMatchObject({ exit_code: 1, unreadable: 1 })
  const [found] = await listFindings(rig.db.read, { runId: run.run_id })
  expect(found?.detail).toContain(`thread could not be read in ${attempts}: `)
})

const call = { operation: 'events', submissionId: null, withCursor: true } as const
const unavailable = (retryAfterMs?: number) => new UpstreamTransientError('unavailable', call, 'away', retryAfterMs)
const throttled = (retryAfterMs?: number) => new UpstreamTransientError('throttled', call, 'too much', retryAfterMs)
const refusedCursor = () => new UpstreamPermanentError('rejected', call, 'no such cursor')
const never = new AbortController().signal

function sleeper(): { clock: Clock; slept: number[] } {
  const clock = new ManualClock()
  const slept: number[] = []
  const sleep = async (ms: number) => {
    slept.push(ms)
    clock.advance(ms)
  }
  return {
    clock: { now: () => clock.now(), steady: () => clock.steady(), random: () => clock.random(), after: clock.after.bind(clock), sleep },
    slept,
  }
}

/** A read that fails with each error, then succeeds. */
function failing(errors: readonly Error[]): () => Promise<string> {
  const left = [...errors]
  return async () => {
    const error = left.shift()
    if (error) throw error
    return 'read'
  }
}

const often = (error: Error): Error[] => Array(9).fill(error)

describe('a read', () => {
  const client = { waitMs: () => 0, pause: () => null } as unknown as UpstreamClient

  it('has three attempts, or fewer within 20 s', async () => {
    const { clock, slept } = sleeper()
    expect(await attempt(clock, client, never, failing([unavailable(), unavailable()]))).toEqual({ ok: true, value: 'read' })
    expect(await attempt(clock, client, never, failing(often(unavailable())))).toMatchObject({
      failure: { class: 'unavailable', attempts: 3 },
    })
    expect(slept).toHaveLength(4)
    expect(await attempt(clock, client, never, failing(often(unavailable(15_000))))).toMatchObject({ failure: { attempts: 2 } })
    expect(await attempt(clock, { ...client, waitMs: () => 20_001 }, never, failing([unavailable()]))).toMatchObject({
      failure: { attempts: 1 },
    })
  })

  it('waits during pauses, which count neither as attempts nor toward the 20 s, up to a limit', async () => {
    const { clock, slept } = sleeper()
    const errors = [throttled(60_000), throttled(60_000), unavailable(), throttled(60_000), unavailable()]
    expect(await attempt(clock, client, never, failing(errors))).toEqual({ ok: true, value: 'read' })
    const pauses = { ms: 0 }
    slept.length = 0
    const gaveUp = { ok: false, failure: { class: 'throttled', attempts: 1 } }
    expect(await attempt(clock, client, never, failing(often(throttled(300_000))), pauses)).toMatchObject(gaveUp)
    expect(slept).toEqual([300_000, 300_000, 300_000])
    expect(await attempt(clock, client, never, failing([throttled()]), pauses)).toMatchObject(gaveUp)
    expect(slept).toHaveLength(3)
  })

  it('trap 49: waits for the first pause of an account, however long, with any status', async () => {
    const { clock, slept } = sleeper()
    const pausing = { ...client, pause: () => ({ ms: 3_600_000, reason: '' }) }
    for (const error of [unavailable(3_600_000), throttled(3_600_000)]) {
      expect(await attempt(clock, pausing, never, failing([error]))).toEqual({ ok: true, value: 'read' })
    }
    expect(slept).toEqual([3_600_000, 3_600_000])
  })

  it('is not retried after other errors or an abort', async () => {
    const { clock, slept } = sleeper()
    const stopped = AbortSignal.abort(new Error('stopped'))
    for (const error of [new AuthRefusedError('auth', call, 'refused'), new TransientError('the store is away'), new Error('ours')]) {
      await expect(attempt(clock, client, never, failing([error]))).rejects.toBe(error)
      await expect(attemptFeed(clock, client, never, failing([error]))).rejects.toBe(error)
    }
    const error = unavailable()
    await expect(attempt(clock, client, stopped, failing([error]))).rejects.toBe(error)
    expect(slept).toEqual([])
    const stop = new AbortController()
    const stopping = { ...clock, sleep: async () => stop.abort(new Error('stopped')) }
    await expect(attempt(stopping, client, stop.signal, failing([error]))).rejects.toThrow('stopped')
  })

  it('of a feed restarts after a refused cursor, up to three times, and never repeats the cursor', async () => {
    const { clock } = sleeper()
    const asked: (string | null)[] = []
    const feed = (answered: (attempt: number) => boolean) => {
      let attempt = 0
      const events = async (_: string, since: string | null) => {
        asked.push(since)
        if (since !== null && !answered(attempt)) throw refusedCursor()
        return { items: [], nextCursor: since === null ? 'a' : null, isEndConfirmed: since !== null }
      }
      return attemptFeed(clock, { ...client, events }, never, async (patient) => {
        attempt += 1
        await patient.events('', null)
        return (await patient.events('', 'a')).nextCursor
      })
    }
    expect(await feed((attempt) => attempt === 3)).toEqual({ ok: true, value: null })
    expect(asked.splice(0)).toEqual([null, 'a', null, 'a', null, 'a'])
    expect(await feed(() => false)).toMatchObject({ failure: { class: 'cursor', attempts: 3 } })
    expect(asked).toEqual([null, 'a', null, 'a', null, 'a'])
  })
})
