import { expect, it } from 'vitest'
import type { Change } from '../../../src/model/change.ts'
import type { Row } from '../../../src/model/entity.ts'
import { FindingBuilder, hasMoved } from '../../../src/reconcile/check/finding.ts'
import { uuid } from '../../tools/observations.ts'

const ID = uuid(9, 1)

function missing(entity: string, after: Row): Change {
  return { account: 'acme', submission_id: ID, entity, entity_id: '["one"]', operation: 'insert', cause: 'reconcile', before: null, after }
}

it("a record newer than its feed's last poll may have moved, with rows derived from it", () => {
  const [two, three, four] = [2, 3, 4].map((n) => ({ occurred_at: `2026-03-0${n}T00:00:00.000000Z` }))
  const polledAt = { events: three?.occurred_at ?? null, thread: two?.occurred_at ?? null }
  const movable = (changed: readonly Change[], polled = polledAt) =>
    new FindingBuilder(ID, polled).mayHaveMoved({ changed, rawOnly: [] }, null).map(({ entity }) => entity)
  const count = (entity: string, after: Row = {}) => movable([missing(entity, after)]).length
  expect([two, three, four].map((after) => count('market_events', after))).toEqual([0, 0, 1])
  expect([two, three, four].map((after) => count('thread_messages', after))).toEqual([0, 1, 1])
  expect(movable([missing('thread_attachments', {})])).toEqual([])
  expect(movable([missing('thread_messages', four ?? {}), missing('thread_attachments', {}), missing('market_events', two ?? {})])).toEqual(
    ['thread_messages', 'thread_attachments'],
  )
  expect(movable([missing('market_events', four ?? {})], { events: null, thread: null })).toEqual([])
})

it.each([
  ['an insert that the log does not have', 'insert', { status: 'new' }, undefined, true],
  ['an insert that the log has: the row was deleted', 'insert', { status: 'new' }, { status: 'new' }, false],
  ['an update of what was last logged', 'update', { status: 'new' }, { status: 'old', line: 'x' }, true],
  ['an update of another value: the row was altered', 'update', { status: 'new' }, { status: 'older' }, false],
  ['an update of a column that the kept log does not have', 'update', { status: 'new' }, { line: 'x' }, false],
  ['an update of a row that the kept log does not have', 'update', { status: 'new' }, undefined, false],
] as const)('the change log decides about %s', (_name, operation, after, logged, moved) => {
  const before = operation === 'insert' ? null : { status: 'old' }
  expect(hasMoved({ ...missing('lanes', after), operation, before }, logged)).toBe(moved)
})
