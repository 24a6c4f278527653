import { onTestFinished } from 'vitest'
import type { Row } from '../../../src/model/entity.ts'
import { FilteredFanOut } from '../../../src/push/queue/filtered-fan-out.ts'
import type { FilteredStep } from '../../../src/push/queue/filtered-steps.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import type { OutboxRow } from '../../../src/store/outbox/rows.ts'
import { silentLog } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedState, uuid, wireLane, wireRequirements } from '../../tools/observations.ts'
import { ACCOUNT, contentOf, destinationOf, type TestDestination } from '../outbox.ts'

export const BOUND = 'entity = "lanes" and row.chip = "bound" and row.gone_at = null'

export function filteredTo(filter: string, over: Partial<TestDestination> = {}): TestDestination {
  return destinationOf('some', { filter, ...over })
}

export function filteredFanOut(db: Db, destination: TestDestination): FilteredFanOut {
  const fanOut = new FilteredFanOut({ db, log: silentLog, destination, filter: destination.filter ?? '', isClockTrusted: async () => true })
  onTestFinished(() => fanOut.close())
  return fanOut
}

export async function fanFiltered(fanOut: FilteredFanOut): Promise<FilteredStep> {
  for (;;) {
    const step = await fanOut.step()
    if (!step.more) return step
  }
}

let reads = 0

/** Gives the lanes of a submission these chips, by number; others are gone. */
export async function showLanes(db: Db, submissionId: string, chips: Readonly<Record<number, string>>): Promise<void> {
  const lanes = Object.entries(chips).map(([n, chip]) => wireLane(Number(n), { chip }))
  reads += 1
  await applyAll(db, [observedState(ACCOUNT, submissionId, wireRequirements(submissionId, lanes), reads)])
}

export function laneId(submissionId: string, n: number): string {
  return JSON.stringify([submissionId, uuid(3, n)])
}

export function wordsOf(row: Pick<OutboxRow, 'operation' | 'snapshot' | 'leftFilter'>): string {
  return `${row.operation}${row.snapshot ? ' whole' : ''}${row.leftFilter ? ' left' : ''}`
}

/**
 * What a receiver holds that keeps the records that it is sent and drops those that leave, by entity and key.
 * @throws Error for a change of an unknown record, or of a column with another value.
 */
export async function heldBy(db: Db, destination: string): Promise<Map<string, Row>> {
  const held = new Map<string, Row>()
  const seen = new Set<string>()
  for (const { entity, entityId, operation, messageId, before, after, leftFilter } of await contentOf(db, destination)) {
    const key = `${entity} ${entityId}`
    if (seen.has(messageId)) throw new Error(`${messageId} twice`)
    seen.add(messageId)
    const known = held.get(key)
    if ((operation === 'insert') === (known !== undefined)) throw new Error(`${operation} of ${key}, which it ${known ? 'has' : 'lacks'}`)
    for (const [column, value] of Object.entries(leftFilter ? {} : (before ?? {}))) {
      if (JSON.stringify(known?.[column]) !== JSON.stringify(value)) throw new Error(`${column} of ${key} was something else`)
    }
    if (leftFilter) held.delete(key)
    else held.set(key, { ...known, ...after })
  }
  return held
}
