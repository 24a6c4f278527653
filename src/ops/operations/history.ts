import { z } from 'zod'
import { history, historyWindows, readHistory } from '../status/history.ts'
import { operation } from './operation.ts'

const show = operation({
  name: 'history',
  summary: 'show activity over the last hour, day, week or month, in steps',
  description:
    'Covers all processes and survives restarts: each process writes its counts four times a minute. A killed process loses the counts of its last ' +
    'seconds, but no stored data.',
  role: 'viewer',
  http: 'GET /history',
  withoutCommand: 'it is data for charts',
  input: z.strictObject({ window: z.enum(historyWindows).default('1h') }),
  output: history,
  run: (c, { window }) => readHistory(c.db, window),
})

export const operations = [show]
