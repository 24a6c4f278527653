import { z } from 'zod'
import { history, historyWindows, readHistory } from '../status/history.ts'
import { operation } from './operation.ts'

const show = operation({
  name: 'history',
  summary: 'tell what happened over the last hour, day, week or month, in steps',
  description:
    'Every process writes four times a minute what it counted, so this covers all of them and outlives restarts. A process that is killed takes ' +
    'what it counted since it last wrote, some seconds at most; what was stored and applied is not touched by that.',
  role: 'viewer',
  http: 'GET /history',
  withoutCommand: 'it is there to be drawn',
  input: z.strictObject({ window: z.enum(historyWindows).default('1h') }),
  output: history,
  run: (c, { window }) => readHistory(c.db, window),
})

export const operations = [show]
