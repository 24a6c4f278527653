import { z } from 'zod'
import { searchAll } from '../actions/search.ts'
import { ago } from '../output/text.ts'
import { time } from '../output/time.ts'
import { LONGEST_ID, pageOf, whole } from './inputs.ts'
import { operation } from './operation.ts'

const MOST_FOUND = 20

const found = z
  .object({
    kind: z.enum(['submission', 'delivery', 'push']),
    id: z.string().meta({ description: "a submission's id; the number of a delivery or a push" }),
    account: z.string(),
    submission_id: z.string().nullable(),
    title: z.string().nullable().meta({ description: "the insured's name, the svix-id, the message id" }),
    state: z.string().meta({ description: 'where the submission stands; the state of the delivery or the push' }),
    about: z.string().nullable().meta({ description: 'the kind of the delivery, the destination of the push' }),
    at: time.meta({ description: 'when the submission last moved, the delivery came, the push was queued' }),
  })
  .meta({ id: 'Found' })

/** `search` */
export const operations = [
  operation({
    name: 'search',
    summary: `find submissions, deliveries and pushes by id or name, at most ${MOST_FOUND}`,
    description:
      "Submissions by what words of the insured's name begin with, by the beginning of their id or of a market's name, or by the status of a " +
      'lane; deliveries by their whole svix-id or number, pushes by their whole message id or number.',
    role: 'viewer',
    http: 'GET /search',
    input: z.strictObject({
      q: z
        .string()
        .min(1)
        .max(LONGEST_ID)
        .meta({ description: 'what to look for', examples: ['bakery'] }),
    }),
    argument: 'q',
    output: pageOf(found),
    run: async (c, { q }) => whole(await searchAll(c.db.read, q.trim(), MOST_FOUND)),
    print: (to, { items }) => {
      const rows = items.map((f) => [f.kind, f.id, f.account, f.title, f.state, f.about, ago(f.at, to.now)])
      to.table({ title: 'Found', headings: ['what', 'id', 'account', 'name', 'state', 'about', 'ago'], rows }, 'Nothing is called that.')
    },
  }),
]
