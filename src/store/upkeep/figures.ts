import { isObject } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'

/** Numbers by series and label, of one step of time. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>

/** What this process counted in a step, from its beginning to now. */
export interface FigureStep {
  readonly stepSeconds: number
  /** When the step began. */
  readonly at: TimeText
  readonly figures: Figures
}

/** Lengths of the steps, in seconds. */
export const figureSteps = { minute: 60, hour: 3_600 } as const

const DAY_MS = 86_400_000
/** For how long steps are kept. Minutes serve the last day, hours the last 30 days. */
const KEPT_MS: Readonly<Record<number, number>> = { [figureSteps.minute]: 2 * DAY_MS, [figureSteps.hour]: 31 * DAY_MS }

/**
 * Writes what this process counted, and removes what is too old. A step holds all that the process counted in it, so writing it again after
 * a commit of unknown outcome counts nothing twice. A power failure may take the last minute.
 * @param lastSuccesses when destinations took a change last, as far as this process knows.
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
      for (const [destination, at] of lastSuccesses) {
        const last = timeValue(tx, at)
        await tx.sql
          .updateTable('sync_destinations')
          .set({ last_success_at: last })
          .where('destination', '=', destination)
          .where(({ eb, or }) => or([eb('last_success_at', 'is', null), eb('last_success_at', '<', last)]))
          .execute()
      }
      for (const [step, keptMs] of Object.entries(KEPT_MS)) {
        const old = tx.sql.deleteFrom('sync_figures').where('step_seconds', '=', Number(step))
        await old.where('at', '<', dbTime(tx, -keptMs)).execute()
      }
    },
    { relaxedDurability: true },
  )
}

/** What all processes counted in the steps since `from`, the oldest first: a row for each process and step. */
export async function readFigures(
  q: Query,
  stepSeconds: number,
  from: TimeText,
): Promise<{ readonly at: TimeText; readonly figures: Figures }[]> {
  const rows = await q.sql
    .selectFrom('sync_figures')
    .select(['at', 'figures'])
    .where('step_seconds', '=', stepSeconds)
    .where('at', '>=', timeValue(q, from))
    .orderBy('at')
    .execute()
  return rows.map(({ at, figures }) => ({ at, figures: parsed(figures) }))
}

/** A row that somebody damaged counts nothing. */
function parsed(text: string): Figures {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as Figures) : {}
  } catch {
    return {}
  }
}
