import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { confirmUpkeep, isUpkeepDone, lastUpkeep } from '../../store/upkeep/upkeep.ts'
import type { ActionContext } from '../actions/context.ts'
import { type ClockJudge, ClockWatch } from '../clocks/clock-watch.ts'
import { record } from '../output/schema.ts'
import { planRun, planText, type RunPlan } from '../retention/doubts.ts'
import { dueRun, Retention, TASK } from '../retention/retention.ts'
import { operation } from './operation.ts'

type RetentionConfig = Pick<Config, 'retention' | 'destinations' | 'cronTimezone'>

const size = z.object({ rows: z.int().describe('rows to remove, approximately'), of: z.int() })

const run = operation({
  name: 'retention.run',
  summary: 'show what the next retention run removes and why it waits; `confirm` starts a waiting run',
  description: 'At the terminal, a confirmed run starts immediately. Otherwise `serve` starts it within five minutes.',
  role: 'admin',
  http: 'POST /retention/run',
  input: z.strictObject({ confirm: z.boolean().optional().describe('start the waiting run anyway') }),
  output: record('Retention', {
    done: z.boolean().describe("whether today's run is done"),
    deliveries: size.describe('deliveries that lose body and headers'),
    changes: size,
    waits_for: z.string().nullable().describe('why the run waits; null if it does not'),
    last: z.string().nullable().describe('result of the last run'),
    text: z.string(),
    outcome: z.enum(['done', 'held', 'stopped', 'waits']).nullable().describe('result of this run; `held`: another process runs it'),
  }),
  exit: ({ outcome }) => (outcome === 'held' ? 4 : 0),
  run: async (c, { confirm }) => {
    if (confirm === true) await confirmRetention(c, c.config)
    const retention = new Retention({ db: c.db, clock: c.clock, log: c.log, config: c.config, clocks: alone(c) })
    const outcome = confirm === true && c.isTerminal ? await retention.runIfDue(c.signal) : null
    c.signal.throwIfAborted()
    return { ...(await retentionState(c, c.config)), outcome }
  },
  print: (to, { outcome, last, text }, { confirm }) => {
    if (outcome === 'held') to.line('Another process runs retention now, or did a moment ago. Try again in a few minutes.')
    else to.line(confirm === true ? (last ?? text) : text)
  },
})

/**
 * @returns what the next run removes, and why the run waits.
 * Prefers a reason that `serve` stored, because by default this function doesn't know the services' clocks.
 */
export async function retentionState(a: ActionContext, config: RetentionConfig, clocks: ClockJudge = alone(a)) {
  const due = dueRun(a.clock.now(), config)
  const done = await isUpkeepDone(a.db, TASK, due)
  const plan = await planRun({ db: a.db, clock: a.clock, config }, due, clocks)
  const last = await lastUpkeep(a.db.read, TASK)
  const waitsFor = done ? null : (last?.waits_for ?? plan.waitsFor)
  return {
    done,
    deliveries: plan.deliveries,
    changes: plan.changes,
    waits_for: waitsFor,
    last: last?.note ?? null,
    text: done ? "today's run is done" : sentence(plan, waitsFor),
  }
}

/** Confirms today's run of retention, so that the run starts even if there is a reason to wait. */
export async function confirmRetention(a: ActionContext, config: RetentionConfig): Promise<void> {
  const due = dueRun(a.clock.now(), config)
  await auditAction(a.db, { who: a.who, action: 'retention.run', target: null, detail: { ...due } }, async () => {
    await confirmUpkeep(a.db, TASK, due)
    return { detail: {} }
  })
}

function alone({ db, clock }: ActionContext): ClockJudge {
  return new ClockWatch({ db, clock, clients: new Map() })
}

function sentence(plan: RunPlan, waitsFor: string | null): string {
  return waitsFor === null
    ? `${planText(plan)}; \`serve\` runs it at night, or soon after it starts`
    : `${planText(plan)}. The run waits, because ${waitsFor}. If that is right, run \`submission-mirror retention run --confirm\``
}

export const operations = [run]
