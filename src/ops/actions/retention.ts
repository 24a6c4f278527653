import { z } from 'zod'
import type { Log } from '../../base/log.ts'
import type { Config } from '../../config/config.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { confirmUpkeep, isUpkeepDone, lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { type ClockJudge, ClockWatch } from '../clocks/clock-watch.ts'
import { planText, planTurn, type TurnPlan } from '../retention/doubts.ts'
import { Retention, TASK, turnAt } from '../retention/retention.ts'
import type { ActionContext } from './context.ts'

type RetentionConfig = Pick<Config, 'retention' | 'destinations' | 'cronTimezone'>

const size = z.object({ rows: z.int().meta({ description: 'that the turn removes, about' }), of: z.int() })

/** What `retention run` tells. */
export const retentionShape = z.object({
  done: z.boolean().meta({ description: 'the turn of today is done' }),
  deliveries: size.meta({ description: 'whose body and headers go' }),
  changes: size,
  waits_for: z.string().nullable().meta({ description: 'why the turn waits; null when it does not' }),
  last: z.string().nullable().meta({ description: 'what the last turn did' }),
  text: z.string(),
})

type RetentionState = z.output<typeof retentionShape>

/** Plans the next turn. Where no `serve` tells what the service's clock says, the wait that it recorded counts. */
export async function retentionState(a: ActionContext, config: RetentionConfig, clocks: ClockJudge = alone(a)): Promise<RetentionState> {
  const turn = turnAt(a.clock.now(), config)
  const done = await isUpkeepDone(a.db, TASK, turn)
  const plan = await planTurn({ db: a.db, clock: a.clock, config }, turn, clocks)
  const last = await lastUpkeep(a.db.read, TASK)
  const waitsFor = done ? null : (last?.waits_for ?? plan.waitsFor)
  return {
    ...{ done, deliveries: plan.deliveries, changes: plan.changes, waits_for: waitsFor, last: last?.note ?? null },
    text: done ? 'the turn of today is done' : sentence(plan, waitsFor),
  }
}

/** Lets the turn of today take place whatever it waits for. */
export async function confirmRetention(a: ActionContext, config: RetentionConfig): Promise<void> {
  const turn = turnAt(a.clock.now(), config)
  await auditAction(a.db, { who: a.who, action: 'retention.run', target: null, detail: { ...turn } }, async () => {
    await confirmUpkeep(a.db, TASK, turn)
    return { detail: {} }
  })
}

/** Runs the confirmed turn in this process. @returns `held` when another process runs it. */
export function runRetention(a: ActionContext, config: RetentionConfig, log: Log): Promise<'done' | 'held' | 'stopped' | 'waits'> {
  return new Retention({ db: a.db, clock: a.clock, log, config, clocks: alone(a) }).runIfDue(a.signal)
}

function alone({ db, clock }: ActionContext): ClockJudge {
  return new ClockWatch({ db, clock, clients: new Map() })
}

function sentence(plan: TurnPlan, waitsFor: string | null): string {
  return waitsFor === null
    ? `${planText(plan)}; it waits for nothing, and \`serve\` runs it at night, or soon after its start`
    : `${planText(plan)}; it waits: ${waitsFor}. If that is right, \`submission-mirror retention run --confirm\` lets this turn take place`
}
