import { z } from 'zod'
import { time } from '../output/time.ts'
import { historyWindows, readHistory } from '../status/history.ts'
import { operation } from './operation.ts'

const values = z.array(z.number().nullable()).meta({ description: 'one for each step; null where no process recorded anything' })
const line = z.object({ label: z.string(), total: z.int(), values }).meta({ id: 'HistoryLine' })
const queue = z
  .object({
    label: z.string(),
    now: z.int().nullable().meta({ description: 'at the newest step that was recorded' }),
    most: z.int(),
    values,
  })
  .meta({ id: 'HistoryQueue' })
const seconds = z.number().nullable().meta({ description: 'seconds; null when nothing was counted' })
const lag = z
  .object({ count: z.int(), p50: seconds, p99: seconds, p50_values: values, p99_values: values })
  .meta({ id: 'HistoryLag', description: 'in seconds, to 26 %' })

const history = operation({
  name: 'history',
  summary: 'tell what happened over the last hour, day, week or month, in steps',
  description:
    'Every process writes once a minute what it counted, so this covers all of them and outlives restarts. A process that is killed takes ' +
    'what it counted since it last wrote, a minute at most; what was stored and applied is not touched by that.',
  role: 'viewer',
  http: 'GET /history',
  withoutCommand: 'it is there to be drawn',
  input: z.strictObject({ window: z.enum(historyWindows).default('1h') }),
  output: z
    .object({
      window: z.enum(historyWindows),
      step_seconds: z.int(),
      steps: z.array(time).meta({ description: 'when each began; the last one is still going on' }),
      deliveries: z.array(line).meta({ description: 'webhook deliveries, by the status they were answered with' }),
      applied: z.array(line).meta({ description: 'changes to the mirror, by what caused them' }),
      lost: z.array(line).meta({ description: 'records that no webhook announced within 15 minutes, by table, when that was found' }),
      lag: z.object({
        mirror: lag.meta({ description: 'from when an event or message happened to its row in the mirror; backfill excluded' }),
        push: lag.meta({ description: 'from the change in the mirror to its delivery to a destination; snapshots excluded' }),
      }),
      upstream: z.array(line).meta({ description: 'requests to the service, by class of the answer' }),
      queues: z.array(queue).meta({ description: 'how much waited at most: `inbox` to be applied, `outbox` to be pushed' }),
    })
    .meta({ id: 'History' }),
  run: (c, { window }) => readHistory(c.db, window),
})

export const operations = [history]
