import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import { type FilteredChange, type Wants, wants } from '../../../src/push/queue/filter.ts'

const NOW = Date.UTC(2026, 5, 1)
const DAY = 86_400_000

function isWanted(destination: Partial<Wants>, change: Partial<FilteredChange>): boolean {
  return wants(
    { accounts: ['acme'], entities: null, operations: null, eventTypes: null, backfill: false, maxAgeMs: null, ...destination },
    {
      account: 'acme',
      entity: 'market_events',
      operation: 'insert',
      cause: 'webhook',
      snapshot: false,
      eventType: 'bound',
      occurredAt: timeFromMs(NOW - DAY),
      ...change,
    },
    NOW,
  )
}

describe('which changes a destination gets', () => {
  it('by account, table, operation and type of event', () => {
    expect(isWanted({}, {})).toBe(true)
    expect(isWanted({}, { account: 'other' })).toBe(false)
    expect(isWanted({ entities: ['lanes'] }, {})).toBe(false)
    expect(isWanted({ entities: ['lanes', 'market_events'] }, {})).toBe(true)
    expect(isWanted({ operations: ['update'] }, {})).toBe(false)
    expect(isWanted({ operations: ['insert'] }, {})).toBe(true)
    expect(isWanted({ eventTypes: ['declined'] }, {})).toBe(false)
    expect(isWanted({ eventTypes: ['declined', 'bound'] }, {})).toBe(true)
    expect(isWanted({ eventTypes: ['declined'] }, { entity: 'lanes', eventType: null })).toBe(true)
  })

  it('history only with backfill', () => {
    expect(isWanted({}, { cause: 'backfill' })).toBe(false)
    expect(isWanted({ backfill: true }, { cause: 'backfill' })).toBe(true)
  })

  it('old records only without max_age; a change without an age is never old', () => {
    expect(isWanted({ maxAgeMs: DAY - 1 }, {})).toBe(false)
    expect(isWanted({ maxAgeMs: DAY }, {})).toBe(true)
    expect(isWanted({ maxAgeMs: 1 }, { entity: 'quotes', eventType: null, occurredAt: null })).toBe(true)
  })

  it('rows of a snapshot by account, table, type and age alone', () => {
    const snapshot = { snapshot: true, cause: 'snapshot' }
    expect(isWanted({ operations: ['update'] }, snapshot)).toBe(true)
    expect(isWanted({ eventTypes: ['declined'] }, snapshot)).toBe(false)
    expect(isWanted({ entities: ['lanes'] }, snapshot)).toBe(false)
    expect(isWanted({ maxAgeMs: 1 }, snapshot)).toBe(false)
    expect(isWanted({}, { ...snapshot, account: 'other' })).toBe(false)
  })
})
