import { describe, expect, test } from 'vitest'
import { readIdentity, readPage, readToken } from '../../../src/upstream/wire/answers.ts'

describe('pages', () => {
  test('a page has items and a cursor', () => {
    expect(readPage({ events: [1, { id: 2 }], next_cursor: 'c+/=' }, 'events')).toEqual({
      items: [1, { id: 2 }],
      nextCursor: 'c+/=',
      isEndConfirmed: false,
    })
    expect(readPage({ messages: [], next_cursor: null }, 'messages')).toEqual({ items: [], nextCursor: null, isEndConfirmed: true })
  })

  test('an absent cursor ends the feed, an empty one is distinct', () => {
    expect(readPage({ events: [] }, 'events')?.nextCursor).toBeNull()
    expect(readPage({ events: [], next_cursor: '' }, 'events')?.nextCursor).toBe('')
  })

  test('trap 05: a cursor of any length is kept, an unstorable one refused', () => {
    const long = 'ä+/='.repeat(50_000)
    expect(readPage({ events: [], next_cursor: long }, 'events')?.nextCursor).toBe(long)
    for (const next_cursor of ['a\u0000', '\ud800', 7, {}]) expect(readPage({ events: [], next_cursor }, 'events')).toBeNull()
  })

  test('anything else is not a page', () => {
    for (const raw of [null, [], {}, { messages: [] }, { events: {} }, 'text']) expect(readPage(raw, 'events')).toBeNull()
  })
})

describe('identity', () => {
  test('trap 46: the brokerage is its id, else its name, else its JSON', () => {
    const client = { kind: 'api_client', client_id: 'bac_1', label: 'a', scope: 'broker_mcp', active_states: ['TX', 7] }
    const identity = { kind: 'api_client', brokerage: 'Bay', clientId: 'bac_1', label: 'a', activeStates: ['TX'], scopes: ['broker_mcp'] }
    expect(readIdentity({ ...client, brokerage: 'Bay' })).toEqual(identity)
    expect(readIdentity({ ...client, brokerage: { id: 'b-1', name: 'Bay' } })?.brokerage).toBe('b-1')
    expect(readIdentity({ ...client, brokerage: { id: 7, name: 'Bay' } })?.brokerage).toBe('7')
    expect(readIdentity({ ...client, brokerage: { id: null, tier: 'gold', name: 'Bay' } })?.brokerage).toBe('Bay')
    expect(readIdentity({ ...client, brokerage: { slug: 'bay', tier: 'gold' } })?.brokerage).toBe('bay')
    const nameless = readIdentity({ ...client, brokerage: { state: 'TX', city: 'Austin' } })?.brokerage
    expect(readIdentity({ ...client, brokerage: { city: 'Austin', state: 'TX' } })?.brokerage).toBe(nameless)
  })

  test('the scopes may have any form, or be missing', () => {
    const scopes = (scope?: unknown) => readIdentity({ kind: 'user', brokerage: 'b', scope })?.scopes
    expect([scopes('broker_mcp broker_submit'), scopes(['broker_mcp', 1]), scopes('a,b')]).toEqual([
      ['broker_mcp', 'broker_submit'],
      ['broker_mcp'],
      ['a', 'b'],
    ])
    for (const none of [undefined, null, '', [], 7, {}, 'x'.repeat(65)]) expect(scopes(none)).toBeUndefined()
  })

  test('an answer without kind or brokerage is not an identity', () => {
    for (const raw of [{ kind: 'user' }, { brokerage: 'b' }, { kind: 'user', brokerage: {} }, { kind: 1, brokerage: 'b' }, null]) {
      expect(readIdentity(raw)).toBeNull()
    }
    expect(readIdentity({ kind: 'user', id: 'u-1', brokerage: 'b' })?.clientId).toBe('u-1')
  })
})

describe('tokens', () => {
  test('trap 38: expires_in may be absent, text, or malformed, and never exceeds an hour', () => {
    const lifetime = (expires_in: unknown) => readToken({ access_token: 't', expires_in })?.expiresInSeconds
    expect([60, '60', 60.5].map(lifetime)).toEqual([60, 60, 60.5])
    for (const value of [undefined, null, 86_400, '86400', '', ' ', 'soon', 0, -1, [], Number.POSITIVE_INFINITY])
      expect(lifetime(value)).toBe(3600)
  })

  test('a token must fit into a header', () => {
    for (const access_token of ['', 'a b', 'a\r\nb', 'é', 7, null, undefined]) expect(readToken({ access_token })).toBeNull()
    expect(readToken(null)).toBeNull()
  })
})
