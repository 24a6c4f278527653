import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import { columnsWhere, isInChangeLog } from '../../src/model/entity.ts'
import type { Observation, Origin } from '../../src/model/observations.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, mirrorOf, replayChanges, rowsOf } from '../tools/mirror.ts'
import {
  byFirstFeedRead,
  byFullRead,
  byPoll,
  byWebhook,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../tools/observations.ts'

const ACCOUNT = 'acme'
const SUBMISSIONS = [uuid(9, 1), uuid(9, 2)]

/** A step of a random history: records by number, and states of the rail by age. */
interface Step {
  readonly what: 'event' | 'message' | 'state'
  readonly submission: number
  readonly n: number
  readonly origin: Origin
  /** The record as it was before a missing value was filled in. */
  readonly early: boolean
}

const EVENTS = 8
const MESSAGES = 6
const STATES = 4

function eventOf(n: number, early: boolean) {
  const lane = early && n % 4 === 0 ? null : uuid(3, n % 3)
  return wireEvent(
    n,
    { occurred_at: `2026-01-05T12:${String(Math.floor(n / 2)).padStart(2, '0')}:00Z`, detail: early ? null : `Reason ${n}` },
    { lane_id: lane },
  )
}

function messageOf(n: number, early: boolean) {
  const path = early ? null : `/broker/finalized-documents/${uuid(4, n)}/pdf`
  const attachments = n > 0 ? [{ name: 'a.pdf', download_path: path }] : []
  return wireMessage(n, early && n % 2 === 0 ? { to: null, attachments: null } : { to: n > 0 ? ['a@b.example'] : [], attachments })
}

/** The rail as it looks at age `n`: lanes come and go, quotes appear, it is missing at times. */
function stateOf(submissionId: string, n: number) {
  if (n === 2) return wireRequirements(submissionId, null)
  const quote = { quote_id: uuid(7, n), premium_display: '$1,200', total_cents: 120_000 + n, lines: [], is_revision: n > 1 }
  // The rail has few values for its last lane, so that values from an event would show.
  const silent = { submission_market_id: uuid(3, 2), chip: 'in_progress' }
  const lanes = [
    wireLane(0, { quotes: n > 0 ? [quote] : [], chip: n > 0 ? 'quoted' : 'in_progress' }),
    ...(n % 2 ? [wireLane(1)] : []),
    ...(n === STATES - 1 ? [silent] : []),
  ]
  return wireRequirements(
    submissionId,
    lanes,
    { marketing_status: n === 0 ? 'matching' : 'matched' },
    { quote_history_unavailable: n === 3 },
  )
}

function factOf(step: Step): Observation {
  const submissionId = SUBMISSIONS[step.submission] as string
  if (step.what === 'event') return observedEvent(ACCOUNT, submissionId, eventOf(step.n, step.early), step.origin)
  if (step.what === 'message') return observedMessage(ACCOUNT, submissionId, messageOf(step.n, step.early), step.origin)
  return observedState(ACCOUNT, submissionId, stateOf(submissionId, step.n), step.n + 1)
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('event', 'event', 'message', 'state'),
  submission: fc.integer({ min: 0, max: 1 }),
  n: fc.integer({ min: 0, max: STATES - 1 }),
  origin: fc.constantFrom(byWebhook, byPoll, byFullRead, byFirstFeedRead),
  early: fc.boolean(),
})

/** Any steps in any grouping, so that records repeat, come out of order, and share transactions. */
const historyArbitrary = fc.array(fc.array(stepArbitrary, { minLength: 1, maxLength: 6 }), { maxLength: 12 })

/** The end of every history: the newest of everything, from a full re-read and a last state read. */
function ending(): Observation[] {
  const observations: Observation[] = []
  SUBMISSIONS.forEach((_, submission) => {
    for (let n = 0; n < EVENTS; n++) observations.push(factOf({ what: 'event', submission, n, origin: byFullRead, early: false }))
    for (let n = 0; n < MESSAGES; n++) observations.push(factOf({ what: 'message', submission, n, origin: byFullRead, early: false }))
  })
  return observations
}

async function play(db: Db, history: readonly (readonly Step[])[], order: readonly number[]): Promise<void> {
  for (const observations of history) await applyAll(db, observations.map(factOf))
  const end = ending()
  for (const index of order) await applyAll(db, [end[index] as Observation])
  for (let n = 0; n < STATES; n++)
    for (const submission of [0, 1]) await applyAll(db, [factOf({ what: 'state', submission, n, origin: byPoll, early: false })])
}

describe.each(testDatabases)('invariant 2 on $name', ({ name, open }) => {
  it('any order, any repetition, any interleaving ends in the same mirror', async () => {
    const truth = await open()
    await applyAll(
      truth.db,
      SUBMISSIONS.map((id) => trackFact(ACCOUNT, id)),
    )
    await play(truth.db, [], [...ending().keys()])
    const expected = await mirrorOf(truth.db)
    await truth.close()
    const arbitrary = fc.record({
      history: historyArbitrary,
      order: fc.shuffledSubarray([...ending().keys()], { minLength: ending().length }),
    })
    await fc.assert(
      fc.asyncProperty(arbitrary, async ({ history, order }) => {
        const { db, close } = await open()
        try {
          await play(db, history, order)
          expect(await mirrorOf(db)).toEqual(expected)
          await expectLogTellsTheMirror(db)
          const before = (await changesOf(db)).length
          await applyAll(db, ending())
          expect((await changesOf(db)).length, 'a replay that changed nothing writes nothing').toBe(before)
        } finally {
          await close()
        }
      }),
      // The same code compares on both; a few runs on Postgres show that it reads and writes alike.
      { numRuns: name === 'sqlite' ? 25 : 6 },
    )
  })
})

/** Replays the change log: it gives the mirror, and its numbers have no hole. */
async function expectLogTellsTheMirror(db: Db): Promise<void> {
  const changes = await changesOf(db)
  expect(changes.map((change) => change.seq)).toEqual(changes.map((_, index) => index + 1))
  const replayed = replayChanges(changes)
  for (const entity of entities) {
    for (const row of await rowsOf(db, entity)) {
      const columns = Object.fromEntries(columnsWhere(entity, isInChangeLog).map((column) => [column, row[column]]))
      const key = `${row['account']} ${entity.table} ${JSON.stringify(entity.key.slice(1).map((column) => row[column]))}`
      expect(replayed.get(key), key).toEqual(columns)
    }
  }
}
