import { afterAll, beforeAll, expect, it } from 'vitest'
import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import { newSqlite } from '../tools/databases.ts'
import { logFaults, untilAgreed } from './agreement.ts'
import type { Served } from './serve.ts'
import { Stage } from './stage.ts'

const notFound = { kind: 'status', status: 404, probability: 0.33 } as const

/** Each much more frequent than in the preset. */
const storms: readonly (readonly [string, readonly FaultInput[]])[] = [
  ['no delivery comes', [{ kind: 'lose' }]],
  [
    'every delivery comes several times and out of order',
    [{ kind: 'duplicate' }, { kind: 'twin' }, { kind: 'reorder', probability: 0.6, ms: 300 }],
  ],
  ['clocks are nearly five minutes apart', [{ kind: 'clock_skew', ms: 290_000 }]],
  ['every page is short', [{ kind: 'short_page' }]],
  ['most pages are empty', [{ kind: 'empty_page', probability: 0.8 }]],
  ['half of the cursors are refused', [{ kind: 'invalid_cursor', probability: 0.5 }]],
  ['half of the cursors stand still', [{ kind: 'stuck_cursor', probability: 0.5 }]],
  ['tokens expire immediately', [{ kind: 'token_dies_early', probability: 0.5 }]],
  ['half of the answers are errors', [500, 502, 503].map((status) => ({ kind: 'status', status, body: 'html', probability: 0.2 }))],
  [
    'half of the answers are unreadable or cut',
    [
      { kind: 'html', probability: 0.25 },
      { kind: 'cut', probability: 0.25 },
    ],
  ],
  // Limited, since each halves the rate of all reads.
  ['a third is refused as too much', [{ kind: 'status', status: 429, retryAfterSeconds: 0, probability: 0.33, count: 12 }]],
  ['a third is not found', (['events', 'thread', 'requirements'] as const).map((operation) => ({ ...notFound, operation }))],
  ['a fifth hangs', [{ kind: 'hang', ms: 400, probability: 0.2 }]],
]

let stage: Stage
let running: Served
let place: ReturnType<typeof newSqlite>

beforeAll(async () => {
  place = newSqlite()
  stage = await Stage.open(place.config, { seed: 'storms', submissions: 6 })
  running = await stage.serve()
  await stage.track()
  stage.deliverTo(running.receiver)
})
afterAll(async () => {
  await stage.close()
  await place.remove()
})

it.each(storms)('agrees in the end if %s', async (name, faults) => {
  const { sandbox } = stage
  sandbox.faults.set(faults)
  const { total } = sandbox.stats().story
  for (let steps = 0; steps < total / storms.length; steps++) sandbox.story.step()
  await sandbox.deliveries.idle()
  const db = await stage.openStore()
  expect(await untilAgreed(db, sandbox, running), `${name}\n${running.lines().join('\n')}`).toEqual([])
  expect(await logFaults(db)).toEqual([])
})
