import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { confirmUpkeep, isUpkeepDone, lastUpkeep } from '../../store/upkeep/upkeep.ts'
import type { ActionContext } from '../actions/context.ts'
import { type ClockJudge, ClockWatch } from '../clocks/clock-watch.ts'
import { record } from '../output/schema.ts'
import { planText, planTurn, type TurnPlan } from '../retention/doubts.ts'
import { Retention, TASK, turnAt } from '../retention/retention.ts'
import { operation } from './operation.ts'

type RetentionConfig = Pick<Config, 'retention' | 'destinations' | 'cronTimezone'>

const size = z.object({ rows: z.int().describe('that the turn removes, about'), of: z.int() })

const run = operation({
  name: 'retention.run',
  summary: 'say what the next turn of retention removes and why it waits; with `confirm` let it take place',
  description: 'At the terminal a confirmed turn runs at once; else the process that runs retention begins it within five minutes.',
  role: 'admin',
  http: 'POST /retention/run',
  input: z.strictObject({ confirm: z.boolean().optional().describe('remove it, whatever the turn waits for') }),
  output: record('Retention', {
    done: z.boolean().describe('the turn of today is done'),
    deliveries: size.describe('whose body and headers go'),
    changes: size,
    waits_for: z.string().nullable().describe('why the turn waits; null when it does not'),
    last: z.string().nullable().describe('what the last turn did'),
    text: z.string(),
    outcome: z
      .enum(['done', 'held', 'stopped', 'waits'])
      .nullable()
      .describe('of the turn that ran at once; `held`: another process runs it; null: none did'),
  }),
  exit: ({ outcome }) => (outcome === 'held' ? 4 : 0),
  run: async (c, { confirm }) => {
    if (confirm === true) await confirmRetention(c, c.config)
    const turn = new Retention({ db: c.db, clock: c.clock, log: c.log, config: c.config, clocks: alone(c) })
    const outcome = confirm === true && c.isTerminal ? await turn.runIfDue(c.signal) : null
    c.signal.throwIfAborted()
    return { ...(await retentionState(c, c.config)), outcome }
  },
  print: (to, { outcome, last, text }, { confirm }) => {
    if (outcome === 'held') to.line('another process runs retention now, or did a moment ago; try again in some minutes')
    else to.line(confirm === true ? (last ?? text) : text)
  },
})

/** Plans the next turn. Where no `serve` tells what the service's clock says, the wait that it recorded counts. */
export async function retentionState(a: ActionContext, config: RetentionConfig, clocks: ClockJudge = alone(a)) {
  const turn = turnAt(a.clock.now(), config)
  const done = await isUpkeepDone(a.db, TASK, turn)
  const plan = await planTurn({ db: a.db, clock: a.clock, config }, turn, clocks)
  const last = await lastUpkeep(a.db.read, TASK)
  const waitsFor = done ? null : (last?.waits_for ?? plan.waitsFor)
  return {
    done,
    deliveries: plan.deliveries,
    changes: plan.changes,
    waits_for: waitsFor,
    last: last?.note ?? null,
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

function alone({ db, clock }: ActionContext): ClockJudge {
  return new ClockWatch({ db, clock, clients: new Map() })
}

function sentence(plan: TurnPlan, waitsFor: string | null): string {
  return waitsFor === null
    ? `${planText(plan)}; it waits for nothing, and \`serve\` runs it at night, or soon after its start`
    : `${planText(plan)}; it waits: ${waitsFor}. If that is right, \`submission-mirror retention run --confirm\` lets this turn take place`
}

/** `retention run [--confirm]` */
export const operations = [run]
