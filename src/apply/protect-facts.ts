import { marketEvents } from '../model/entities/market-events.ts'
import { submissions } from '../model/entities/submissions.ts'
import { threadAttachments } from '../model/entities/thread-attachments.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { entities } from '../model/entities.ts'
import type { Entity, Row } from '../model/entity.ts'
import type { Fact, SubmissionRef } from '../model/facts.ts'
import type { Protection } from '../model/protection/protection.ts'
import type { View } from '../model/view.ts'

const entityOf: ReadonlyMap<string, Entity> = new Map(entities.map((entity) => [entity.table, entity]))

/** @returns facts without tax ids, or with encrypted ones, by `PROTECT`. An unchanged fact is the same object. */
export function protectFacts<F extends Fact>(protection: Protection, facts: readonly F[]): F[] {
  return facts.map((fact) => protectFact(protection, fact) as F)
}

function protectFact(protection: Protection, fact: Fact): Fact {
  const columns = <R extends object>(entity: Entity, row: R, key: Row = {}): R => protectColumns(protection, fact, entity, row, key)
  switch (fact.kind) {
    case 'event': {
      const event = columns(marketEvents, fact.event)
      return event === fact.event ? fact : { ...fact, event }
    }
    case 'message': {
      const message = columns(threadMessages, fact.message.message)
      const key = { message_id: message.message_id }
      const attachments = fact.message.attachments.map((attachment) => columns(threadAttachments, attachment, key))
      const isSame = message === fact.message.message && attachments.every((one, position) => one === fact.message.attachments[position])
      return isSame ? fact : { ...fact, message: { message, attachments } }
    }
    case 'state':
      return { ...fact, view: protectView(fact.view, columns) }
    default:
      return fact
  }
}

function protectView(view: View, columns: <R extends object>(entity: Entity, row: R) => R): View {
  const lists = view.lists.map((list) => {
    const entity = entityOf.get(list.table)
    return entity === undefined ? list : { ...list, rows: list.rows.map((row) => columns(entity, row)) }
  })
  return { ...view, submission: view.submission && columns(submissions, view.submission), lists }
}

/** @param key further key columns, which the columns don't contain. */
function protectColumns<R extends object>(protection: Protection, place: SubmissionRef, entity: Entity, columns: R, key: Row): R {
  const whole: Row = { ...columns, ...key, account: place.account, submission_id: place.submissionId }
  const row = protection.row(entity, whole)
  return row === whole ? columns : (Object.fromEntries(Object.keys(columns).map((column) => [column, row[column]])) as R)
}
