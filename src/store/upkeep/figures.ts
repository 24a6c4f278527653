import { sql } from 'kysely'
import { isObject, parsedJson } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'

/** Counts of one minute or hour. Outer keys are series, such as `deliveries`. Inner keys are labels, such as `204`. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>

export interface FigureStep {
  readonly stepSeconds: number
  readonly at: TimeText
  readonly figures: Figures
}

export const figureSteps = { minute: 60, hour: 3_600 } as const

const DAY_MS = 86_400_000
/**
 * How long counts per minute and counts per hour are kept, in ms. Each key is the length of the period, in s. Screens
 * show counts per minute for one day, and counts per hour for 30 days.
 */
const KEPT_MS: Readonly<Record<number, number>> = { [figureSteps.minute]: 2 * DAY_MS, [figureSteps.hour]: 31 * DAY_MS }

/**
 * Writes this process's counts and deletes old counts. A write replaces the whole minute or hour. If the outcome of a
 * commit is unknown, the write can therefore be repeated.
 * @param lastSuccesses when each destination last accepted a change from this process.
 */
export async function writeFigures(
  db: Db,
  steps: readonly FigureStep[],
  lastSuccesses: ReadonlyMap<string, TimeText> = new Map(),
): Promise<void> {
  const rows = steps.map(({ stepSeconds, at, figures }) => ({
    step_seconds: stepSeconds,
    at,
    process_id: db.processId,
    figures: JSON.stringify(figures),
  }))
  await db.write(
    'figures',
    async (tx) => {
      await tx.sql
        .insertInto('sync_figures')
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(['step_seconds', 'at', 'process_id']).doUpdateSet((eb) => ({ figures: eb.ref('excluded.figures') })),
        )
        .execute()
      for (const [step, keptMs] of Object.entries(KEPT_MS)) {
        const old = tx.sql.deleteFrom('sync_figures').where('step_seconds', '=', Number(step))
        await old.where('at', '<', dbTime(tx, -keptMs)).execute()
      }
      // Update the destinations last. From then on, fan-out waits until this transaction ends.
      for (const [destination, at] of lastSuccesses) {
        const last = timeValue(tx, at)
        await tx.run(sql`
          update sync_destinations set last_success_at = ${last} where destination = ${destination}
          and (last_success_at is null or last_success_at < ${last})`)
      }
    },
    { relaxedDurability: true },
  )
}

/**
 * Reads the counts of all processes since `from`, the oldest first. Each process has one row for each minute or hour.
 */
export async function readFigures(
  q: Query,
  stepSeconds: number,
  from: TimeText,
): Promise<{ readonly at: TimeText; readonly figures: Figures }[]> {
  const rows = await q.all(sql<Columns<'sync_figures', 'at' | 'figures'>>`
    select at, figures from sync_figures where step_seconds = ${stepSeconds} and at >= ${timeValue(q, from)} order by at`)
  return rows.map(({ at, figures }) => ({ at, figures: parsed(figures) }))
}

/** @returns the counts of a row; no counts if the text is damaged. */
function parsed(text: string): Figures {
  const value = parsedJson(text)
  return isObject(value) ? (value as Figures) : {}
}
