import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { FatalError, TransientError } from '../../src/base/errors.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import { type Service, supervise } from '../../src/base/service.ts'

/** A log whose lines can be read. */
function recorder(): { log: Log; lines: { msg: string; waitMs?: number; service?: string }[] } {
  const lines: { msg: string }[] = []
  return {
    log: createLog({ level: 'info', pretty: false, secrets: [], destination: { write: (line) => void lines.push(JSON.parse(line)) } }),
    lines,
  }
}

/** A clock that wakes sleepers immediately and records the requested times. */
class ImpatientClock extends ManualClock {
  readonly slept: number[] = []

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return
    this.slept.push(ms)
    this.advance(ms)
  }
}

function service(run: (signal: AbortSignal, start: number) => Promise<void>): Service {
  let starts = 0
  return { name: 'worker', run: (signal) => run(signal, ++starts) }
}

test('a failing service is restarted, after growing waits, until it is stopped', async () => {
  const [clock, stop, { log, lines }] = [new ImpatientClock(0, () => 0.999), new AbortController(), recorder()]
  const failing = service(async (_, start) => {
    if (start === 12) stop.abort()
    else throw new TransientError(`no ${start}`)
  })
  await supervise(failing, clock, log, stop.signal)
  expect(clock.slept).toHaveLength(11)
  expect(clock.slept).toEqual([...clock.slept].sort((a, b) => a - b))
  expect(Math.max(...clock.slept), 'work resumes soon after the database is back').toBeLessThan(2_000)
  expect(lines.map(({ msg }) => msg)[0]).toBe('worker failed and will be restarted: no 1')
  expect(lines[0]).toMatchObject({ service: 'worker', waitMs: clock.slept[0], err: { message: 'no 1' } })
})

test('a permanently failing service is restarted within 30 s, and an unreachable one is logged once a minute', async () => {
  for (const [error, longestMs, mostLines] of [
    [new Error('a bug'), 30_000, 40],
    [new TransientError('the database is away'), 2_000, 8],
  ] as const) {
    const [clock, stop, { log, lines }] = [new ImpatientClock(0, () => 0.999), new AbortController(), recorder()]
    const failing = service(async (_, start) => {
      if (start === 40) stop.abort()
      else throw error
    })
    await supervise(failing, clock, log, stop.signal)
    expect(Math.ceil(Math.max(...clock.slept) / 1_000) * 1_000).toBe(longestMs)
    expect(lines.length).toBeLessThan(mostLines)
  }
})

test('a service that returns early has failed', async () => {
  const [clock, stop, { log, lines }] = [new ImpatientClock(), new AbortController(), recorder()]
  await supervise(
    service(async (_, start) => {
      if (start === 2) stop.abort()
    }),
    clock,
    log,
    stop.signal,
  )
  expect(lines.map(({ msg }) => msg)).toEqual(['worker failed and will be restarted: worker ended early'])
})

test('the waits restart after a minute of good work', async () => {
  const [clock, stop, { log }] = [new ImpatientClock(0, () => 0.999), new AbortController(), recorder()]
  const failing = service(async (_, start) => {
    if (start === 6) return stop.abort()
    if (start === 5) clock.advance(60_001)
    throw new Error('again')
  })
  await supervise(failing, clock, log, stop.signal)
  expect(clock.slept[4]).toBeLessThan(clock.slept[0] ?? 0)
})

test('a fatal error ends it immediately', async () => {
  const [clock, { log, lines }] = [new ImpatientClock(), recorder()]
  const fatal = service(async () => {
    throw new FatalError('the schema is of a later release')
  })
  await expect(supervise(fatal, clock, log, new AbortController().signal)).rejects.toThrow('the schema is of a later release')
  expect([clock.slept, lines]).toEqual([[], []])
})

test('it is not started after an abort, and a failure during the stop ends it', async () => {
  const [clock, stop, { log, lines }] = [new ImpatientClock(), new AbortController(), recorder()]
  let starts = 0
  const stopping = service(async (_, start) => {
    starts = start
    stop.abort()
    throw new Error('cut off')
  })
  await supervise(stopping, clock, log, stop.signal)
  await supervise(stopping, clock, log, stop.signal)
  expect([starts, clock.slept, lines]).toEqual([1, [], []])
})

test('an abort ends the wait before a restart', async () => {
  const [clock, stop, { log }] = [new ManualClock(), new AbortController(), recorder()]
  const failed = Promise.withResolvers<void>()
  const failing = service(async () => {
    setImmediate(failed.resolve)
    throw new Error('once')
  })
  const supervised = supervise(failing, clock, log, stop.signal)
  await failed.promise
  stop.abort()
  await supervised
})
