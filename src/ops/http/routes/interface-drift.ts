import { z } from 'zod'
import { surpriseKinds } from '../../../model/interface-drift.ts'
import { time } from '../../operations/inputs.ts'
import { interfaceDrift } from '../../status/interface-drift.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { pageOf, whole } from '../api/schemas.ts'

const item = z
  .object({
    account: z.string(),
    resource: z.string().meta({ description: 'the read that it was in, or the kind of the delivery' }),
    path: z.string().meta({ description: 'names of fields, `[]` for the items of a list, `{}` for a key that is data' }),
    kind: z
      .enum(surpriseKinds)
      .meta({ description: 'what is not named: the field, the value of a vocabulary, or the type; or that a required field is missing' }),
    type: z.string().meta({ description: 'the JSON type that was seen; absent for a missing field' }),
    first_seen_at: time,
    last_seen_at: time,
    answers: z.int().meta({ description: 'in how many answers and deliveries' }),
  })
  .meta({ id: 'InterfaceDrift' })

const schema = {
  summary: 'fields, values and types that the specification does not name, and required fields that are missing',
  description:
    'What `submission-mirror status --drift` prints: where, of which type and how often, never a value. At most 1,000 an account.',
  tags: ['status'],
  response: answers('all of them, those first seen lately first', pageOf(item)),
}

/** `GET /interface-drift` */
export function addInterfaceDrift(api: Api, p: AdminParts): void {
  api.get('/interface-drift', { schema }, async () => whole([...(await interfaceDrift(p.db.read)).items]))
}
