import { describe, expect, test } from 'vitest'
import type { Row } from '../../../src/model/entity.ts'
import type { TimeText } from '../../../src/model/time.ts'
import { itemMaker } from '../../../src/push/send/item.ts'
import type { OutboxRow } from '../../../src/store/outbox/work.ts'

function rowOf(after: Row): OutboxRow {
  return {
    outboxId: 1,
    messageId: 'm',
    account: 'default',
    submissionId: 's',
    entity: 'thread_messages',
    entityId: '["s","m"]',
    operation: 'insert',
    cause: 'webhook',
    seq: 7,
    snapshot: false,
    changedAt: '2026-11-21T12:00:00.000000Z' as TimeText,
    before: null,
    after,
    afterText: JSON.stringify(after),
    attempts: 0,
    progress: null,
    status: null,
    uncertain: false,
    triedAt: null,
    resent: null,
    remoteId: null,
    mapping: null,
    leftFilter: false,
    submission: null,
    direction: null,
  }
}

describe('the text of a change', () => {
  const itemOf = itemMaker({ name: 'ams', personalFields: ['thread_messages.subject'], taxIdFields: [] })

  test('is passed on as it stands in the log when all of it may go out', () => {
    const after = { message_id: 'm', subject: 'Renewal', kind: 'chat' }
    expect(itemOf(rowOf(after))).toMatchObject({ after, afterText: JSON.stringify(after) })
  })

  test('invariant 12: is left out when any column is left out', () => {
    for (const hidden of [{ body_text: 'Jane Doe called' }, { ssn: '123-45-6789' }]) {
      const item = itemOf(rowOf({ message_id: 'm', ...hidden }))
      expect(item).toMatchObject({ after: { message_id: 'm' }, afterText: null })
      expect(JSON.stringify(item)).not.toContain(Object.values(hidden)[0])
    }
  })
})
