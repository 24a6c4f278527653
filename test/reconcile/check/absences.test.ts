import { expect, it } from 'vitest'
import { stillAbsent } from '../../../src/reconcile/check/absences.ts'
import { ShownKeys } from '../../../src/reconcile/check/full-read.ts'
import { byFullRead, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'

const ID = uuid(9, 1)

it('neither records of a second full re-read nor attachments of missing messages are absent', () => {
  const shown = new ShownKeys()
  shown.add(observedEvent('acme', ID, wireEvent(1), byFullRead))
  shown.add(observedMessage('acme', ID, wireMessage(1), byFullRead))
  const record = (id: string, position: number | null = null) => ({
    id,
    position,
    hasMessage: position !== null,
    firstSeenAt: null,
    goneAt: null,
  })
  const [event, otherEvent] = [record(uuid(1, 1)), record(uuid(1, 2))]
  const [first, second, ofOther] = [record(uuid(2, 1), 0), record(uuid(2, 1), 1), record(uuid(2, 2), 0)]
  expect(stillAbsent([event, otherEvent, first, second, ofOther], shown)).toEqual([otherEvent, second])
})
