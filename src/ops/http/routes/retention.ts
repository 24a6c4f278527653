import { z } from 'zod'
import { confirmRetention, retentionState } from '../../actions/retention.ts'
import { answersOfAction } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

const size = z.object({ rows: z.int().meta({ description: 'that the turn removes, about' }), of: z.int() })

const state = z
  .object({
    done: z.boolean().meta({ description: 'the turn of today is done' }),
    deliveries: size.meta({ description: 'whose body and headers go' }),
    changes: size,
    waits_for: z.string().nullable().meta({ description: 'why the turn waits; null when it does not' }),
    last: z.string().nullable().meta({ description: 'what the last turn did' }),
    text: z.string(),
  })
  .meta({ id: 'Retention' })

const schema = {
  summary: 'say what the next turn of retention removes and why it waits; with `confirm` let it take place',
  description: 'A confirmed turn begins within five minutes, in the process that runs retention.',
  tags: ['status'],
  body: z.strictObject({ confirm: z.boolean().default(false) }).nullish(),
  response: answersOfAction('what it removes', state),
}

/** `POST /retention/run` */
export function addRetention(api: Api, p: AdminParts): void {
  api.post('/retention/run', { schema }, async (request) => {
    const a = actionContextFor(p, request)
    if (request.body?.confirm === true) await confirmRetention(a, p.config())
    return retentionState(a, p.config())
  })
}
