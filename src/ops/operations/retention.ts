import { z } from 'zod'
import { confirmRetention, retentionShape, retentionState, runRetention } from '../actions/retention.ts'
import { operation } from './operation.ts'

const run = operation({
  name: 'retention.run',
  summary: 'say what the next turn of retention removes and why it waits; with `confirm` let it take place',
  description: 'At the terminal a confirmed turn runs at once; else the process that runs retention begins it within five minutes.',
  role: 'admin',
  http: 'POST /retention/run',
  input: z.strictObject({ confirm: z.boolean().optional().meta({ description: 'remove it, whatever the turn waits for' }) }),
  output: retentionShape
    .extend({
      outcome: z
        .enum(['done', 'held', 'stopped', 'waits'])
        .nullable()
        .meta({ description: 'of the turn that ran at once; `held`: another process runs it; null: none did' }),
    })
    .meta({ id: 'Retention' }),
  exit: ({ outcome }) => (outcome === 'held' ? 4 : 0),
  run: async (c, { confirm }) => {
    if (confirm === true) await confirmRetention(c, c.config)
    const outcome = confirm === true && c.isTerminal ? await runRetention(c, c.config, c.log) : null
    c.signal.throwIfAborted()
    return { ...(await retentionState(c, c.config)), outcome }
  },
  print: (to, { outcome, last, text }, { confirm }) => {
    if (outcome === 'held') to.line('another process runs retention now, or did a moment ago; try again in some minutes')
    else to.line(confirm === true ? (last ?? text) : text)
  },
})

/** `retention run [--confirm]` */
export const operations = [run]
