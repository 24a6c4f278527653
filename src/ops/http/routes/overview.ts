import { z } from 'zod'
import { together } from '../../../base/together.ts'
import { time } from '../../operations/inputs.ts'
import { readOverview } from '../../status/overview.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'

const pile = z.object({
  count: z.int().meta({ description: 'counted up to a limit' }),
  oldest_at: time.nullable(),
})

const mend = z.object({
  command: z.string().optional().meta({ description: 'what to type' }),
  runbook: z.string().optional().meta({ description: 'the section of the runbook that tells what to do' }),
  method: z.literal('POST').optional().meta({ description: 'with `path` and `body`: the request that mends it, where one can' }),
  path: z.string().optional(),
  body: z.record(z.string(), z.string()).nullable().optional(),
})

const overview = z
  .object({
    verdict: z.enum(['complete', 'catching_up', 'attention']),
    sentence: z.string().meta({ description: 'the verdict and its reasons, for people' }),
    since: time.nullable().meta({ description: 'since when it needs a person or is behind; null when not known, or complete' }),
    needs: z.array(
      z.object({
        ...{ kind: z.string(), what: z.string(), since: time.nullable(), count: z.int() },
        account: z.string().nullable().meta({ description: 'that it is about; null: none' }),
        destination: z.string().nullable().meta({ description: 'that it is about; null: none' }),
        run_id: z.string().nullable().meta({ description: 'the reconcile run that it is about; null: none' }),
        mend,
      }),
    ),
    late: z
      .array(z.object({ kind: z.string(), of: z.string().nullable(), count: z.int().nullable(), since: time.nullable() }))
      .meta({ description: 'what is older than it should be, and gets fresh without a person' }),
    served: z.boolean().meta({ description: 'whether a process works on the database now' }),
    submissions: z.object({ known: z.int(), unreachable: z.int(), never_read: z.int() }),
    inbox: pile.meta({ description: 'deliveries that wait to be applied' }),
    accounts: z.array(
      z.object({
        ...{ account: z.string(), state: z.string(), submissions: z.int(), dead: pile },
        ...{ newest_read_at: time.nullable(), stalest_read_at: time.nullable(), oldest_wake_at: time.nullable() },
      }),
    ),
    destinations: z.array(
      z.object({
        ...{ destination: z.string(), state: z.string(), oldest_unsent_at: time.nullable() },
        ...{ dead: pile, unknown: pile, held: pile, unmapped: pile },
      }),
    ),
  })
  .meta({ id: 'Overview' })

const schema = {
  summary: 'whether the mirror is complete and fresh, and what needs a person, with the request that mends it',
  description: 'The sentence is the one that `status` prints first. Cheap enough to be asked every few seconds.',
  tags: ['status'],
  response: answers('the overview', overview),
}

/** `GET /overview` */
export function addOverview(api: Api, p: AdminParts): void {
  // Many people look at it, and each page asks for it.
  const read = together(async () => overview.parse(await readOverview(p.db, p.config())))
  api.get('/overview', { schema }, read)
}
