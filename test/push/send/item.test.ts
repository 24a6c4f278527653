import { describe, expect, test } from 'vitest'
import type { Row } from '../../../src/model/entity.ts'
import { itemMaker } from '../../../src/push/send/item.ts'
import { outboxRow } from '../outbox.ts'

const rowOf = (after: Row) => outboxRow({ entity: 'thread_messages', entityId: '["s","m"]', after, afterText: JSON.stringify(after) })

describe('the text of a change', () => {
  const itemOf = itemMaker({ name: 'ams', personalFields: ['thread_messages.subject'], taxIdFields: [] })

  test('is passed on as in the log if all of it may be sent', () => {
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
