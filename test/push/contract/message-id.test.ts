import { describe, expect, it } from 'vitest'
import { type MessageSubject, messageId } from '../../../src/push/contract/message-id.ts'

const EPOCH = '3c8b1f52-0000-4000-8000-000000000001'
const OTHER_EPOCH = '3c8b1f52-0000-4000-8000-000000000002'

function subject(over: Partial<MessageSubject> = {}): MessageSubject {
  return { account: 'acme', entity: 'market_events', entityId: '["s","e"]', operation: 'insert', seq: 7, snapshot: false, ...over }
}

describe('message ids', () => {
  it('are UUIDs of version 5, and stay what they are', () => {
    expect(messageId(subject(), EPOCH)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    // As another implementation of RFC 9562 makes them. Receivers have stored them, so a change breaks the contract.
    expect(messageId(subject(), EPOCH)).toBe('b57e8e5b-7e2d-54f4-800d-85dcfbb48701')
    expect(messageId(subject({ entity: 'lanes' }), EPOCH)).toBe('6e934626-654c-5bca-b862-66373118adaf')
    expect(messageId(subject({ entity: 'lanes', snapshot: true }), EPOCH)).toBe('cf297e95-cfd1-58f0-8dd8-76a260476cbe')
  })

  it('of a new event or message are the same in every log, at every place in it, and in a snapshot', () => {
    for (const entity of ['market_events', 'thread_messages']) {
      const id = messageId(subject({ entity }), EPOCH)
      expect(messageId(subject({ entity, seq: 99 }), OTHER_EPOCH)).toBe(id)
      expect(messageId(subject({ entity, seq: 99, snapshot: true }), EPOCH)).toBe(id)
      expect(messageId(subject({ entity, account: 'other' }), EPOCH)).not.toBe(id)
      expect(messageId(subject({ entity, entityId: '["s","f"]' }), EPOCH)).not.toBe(id)
    }
  })

  it('of what happens to one later are other ones each time, even where it says the same', () => {
    for (const entity of ['market_events', 'thread_messages']) {
      const later = (operation: string, seq: number, epoch = EPOCH) => messageId(subject({ entity, operation, seq }), epoch)
      const ids = [
        messageId(subject({ entity }), EPOCH),
        later('update', 8),
        later('update', 9),
        later('gone', 10),
        later('update', 11),
        later('gone', 12),
        later('update', 12, OTHER_EPOCH),
      ]
      expect(new Set(ids).size).toBe(ids.length)
      expect(later('update', 8)).toBe(ids[1])
    }
  })

  it('of state are of its place in the log', () => {
    const lane = (over: Partial<MessageSubject>, epoch = EPOCH) => messageId(subject({ entity: 'lanes', ...over }), epoch)
    expect(lane({ operation: 'update' })).toBe(lane({}))
    expect(lane({ seq: 8 })).not.toBe(lane({}))
    expect(lane({}, OTHER_EPOCH)).not.toBe(lane({}))
    expect(lane({ snapshot: true })).not.toBe(lane({}))
    expect(lane({ snapshot: true, entityId: '["s","f"]' })).not.toBe(lane({ snapshot: true }))
    expect(lane({ snapshot: true, account: 'other' })).not.toBe(lane({ snapshot: true }))
  })
})
