import { sql } from 'kysely'
import { isObject, parsedJson } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'

/** The counts of one minute or hour, by series and label. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>

export interface FigureStep {
  readonly stepSeconds: number
  readonly at: TimeText
  readonly figures: Figures
}

export const figureSteps = { minute: 60, hour: 3_600 } as const

const DAY_MS = 86_400_000
/** How long counts are kept, in ms. Screens show one day of minutes and 30 days of hours. */
const KEPT_MS: Readonly<Record<number, number>> = { [figureSteps.minute]: 2 * DAY_MS, [figureSteps.hour]: 31 * DAY_MS }

/**
 * Writes the counts of this process and removes old ones. Each write replaces the whole minute or hour, so it can be
 * repeated after a commit with an unknown outcome.
 * @param lastSuccesses when destinations last accepted a change, as far as this process knows.
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
      // Update destinations last, because fan-out waits while this transaction locks their rows.
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
 * Reads the counts of all processes since `from`, oldest first. There is one row for each process and minute or hour.
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

/** @returns the counts of a row; none if its text is damaged. */
function parsed(text: string): Figures {
  const value = parsedJson(text)
  return isObject(value) ? (value as Figures) : {}
}
