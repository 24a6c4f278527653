import { expect, it } from 'vitest'
import type { Change } from '../../../src/model/change.ts'
import type { Row } from '../../../src/model/entity.ts'
import { FindingBuilder } from '../../../src/reconcile/check/finding.ts'
import { uuid } from '../../tools/facts.ts'

const ID = uuid(9, 1)

function missing(entity: string, after: Row): Change {
  return { account: 'acme', submission_id: ID, entity, entity_id: '["one"]', operation: 'insert', cause: 'reconcile', before: null, after }
}

it('a record that is missing is news when it happened after its feed was polled last', () => {
  const [two, three, four] = [2, 3, 4].map((n) => ({ occurred_at: `2026-03-0${n}T00:00:00.000000Z` }))
  const polledAt = { events: three?.occurred_at ?? null, thread: two?.occurred_at ?? null }
  const isNews = (entity: string, after: Row = {}, polled = polledAt) => {
    const [found] = new FindingBuilder(ID, polled).findingsOf({ changed: [missing(entity, after)], rawOnly: [] }, null, true)
    return found?.detail.includes('it is news and not a loss')
  }
  expect([two, three, four].map((after) => isNews('market_events', after))).toEqual([false, false, true])
  expect([two, three, four].map((after) => isNews('thread_messages', after))).toEqual([false, true, true])
  expect([isNews('thread_attachments'), isNews('submissions')]).toEqual([false, false])
  expect(isNews('market_events', four, { events: null, thread: null })).toBe(false)
})
