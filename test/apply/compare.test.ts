import { expect, it } from 'vitest'
import { DryRun, differs } from '../../src/apply/compare.ts'
import { lanes } from '../../src/model/entities/lanes.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { quotes } from '../../src/model/entities/quotes.ts'
import type { Observation } from '../../src/model/observations.ts'
import { MirrorReader } from '../../src/store/mirror/reader.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, rowsOf } from '../tools/mirror.ts'
import { byPoll, observedEvent, observedState, uuid, wireEvent, wireLane, wireRequirements } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const NOW = '2026-02-01T00:00:00.000000Z'
const quote = { quote_id: uuid(7, 1), premium_display: '$1,200', total_cents: 120_000, lines: ['gl'], is_revision: false }

it.each(testDatabases)('a dry run compares with what it would have written, and leaves the mirror of $name unchanged', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const event = (detail: string | null) => observedEvent(ACCOUNT, ID, wireEvent(1, { detail }, { lane_id: null }), byPoll)
  const state = (status: string, shown: readonly object[]) =>
    observedState(ACCOUNT, ID, wireRequirements(ID, [wireLane(1, { status, quotes: shown as never })]), 1)
  await applyAll(db, [event(null), state('quoted', [quote])])
  const mirror = async () => [await rowsOf(db, marketEvents), await rowsOf(db, lanes), await rowsOf(db, quotes)]
  const before = await mirror()
  const rehearsal = new DryRun(new MirrorReader(db.read, ACCOUNT))
  for (const observation of [event('Filled'), state('declined', [])] satisfies Observation[]) {
    expect(differs(await rehearsal.compare([observation], NOW))).toBe(true)
    expect(differs(await rehearsal.apply([observation], NOW))).toBe(true)
    expect(differs(await rehearsal.compare([observation], NOW))).toBe(false)
  }
  expect(differs(await rehearsal.compare([state('quoted', [quote])], NOW))).toBe(true)
  expect(await mirror()).toEqual(before)
})
