import { marketEvents } from '../model/entities/market-events.ts'
import { submissions } from '../model/entities/submissions.ts'
import { threadAttachments } from '../model/entities/thread-attachments.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { entities } from '../model/entities.ts'
import type { Entity, Row } from '../model/entity.ts'
import type { Observation, SubmissionRef } from '../model/observations.ts'
import type { Protection } from '../model/protection/protection.ts'
import type { View } from '../model/view.ts'

const entityOf: ReadonlyMap<string, Entity> = new Map(entities.map((entity) => [entity.table, entity]))

/** @returns the observations with tax ids removed or encrypted, as the setting `PROTECT` says. */
export function protectObservations<F extends Observation>(protection: Protection, observations: readonly F[]): F[] {
  return observations.map((observation) => protectObservation(protection, observation) as F)
}

function protectObservation(protection: Protection, observation: Observation): Observation {
  const columns = <R extends object>(entity: Entity, row: R, key: Row = {}): R => protectColumns(protection, observation, entity, row, key)
  switch (observation.kind) {
    case 'event': {
      const event = columns(marketEvents, observation.event)
      return event === observation.event ? observation : { ...observation, event }
    }
    case 'message': {
      const message = columns(threadMessages, observation.message.message)
      const key = { message_id: message.message_id }
      const attachments = observation.message.attachments.map((attachment) => columns(threadAttachments, attachment, key))
      const isSame =
        message === observation.message.message && attachments.every((one, position) => one === observation.message.attachments[position])
      return isSame ? observation : { ...observation, message: { message, attachments } }
    }
    case 'state':
      return { ...observation, view: protectView(observation.view, columns) }
    default:
      return observation
  }
}

function protectView(view: View, columns: <R extends object>(entity: Entity, row: R) => R): View {
  const lists = view.lists.map((list) => {
    const entity = entityOf.get(list.table)
    return entity === undefined ? list : { ...list, rows: list.rows.map((row) => columns(entity, row)) }
  })
  return { ...view, submission: view.submission && columns(submissions, view.submission), lists }
}

/** @param key the row's key columns that are missing in `columns`. */
function protectColumns<R extends object>(protection: Protection, place: SubmissionRef, entity: Entity, columns: R, key: Row): R {
  const whole: Row = { ...columns, ...key, account: place.account, submission_id: place.submissionId }
  const row = protection.row(entity, whole)
  return row === whole ? columns : (Object.fromEntries(Object.keys(columns).map((column) => [column, row[column]])) as R)
}
