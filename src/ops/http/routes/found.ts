import { z } from 'zod'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { name, time } from '../../operations/inputs.ts'
import { newestFound } from '../../status/found-without-webhook.ts'
import { answersAbout } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { limit, pageOf, whole } from '../api/schemas.ts'

const item = z
  .object({
    account: z.string(),
    submission_id: z.string(),
    insured_name: z.string().nullable(),
    entity: z.enum(['market_events', 'thread_messages']),
    record_id: z.string(),
    what: z.string().nullable().meta({ description: 'the type of the event, the kind of the message' }),
    market_name: z.string().nullable(),
    occurred_at: time.nullable(),
    known_at: time.meta({ description: 'when the reading found it' }),
    known_via: z.string().meta({ description: '`poll`, `replay` (a later reading of the feed from its beginning), `reconcile`' }),
    lost: z.boolean().meta({ description: 'its webhook counts as lost: it has not come for 15 minutes' }),
    before_tracked: z
      .boolean()
      .meta({ description: 'it happened before its submission was tracked here: its webhook may have come before' }),
  })
  .meta({ id: 'FoundWithoutWebhook' })

const schema = {
  summary: 'the newest events and messages that a reading of the feeds found, and of which no webhook has told',
  tags: ['completeness'],
  querystring: z.strictObject({ account: name.optional(), limit }),
  response: answersAbout('them, the newest first', pageOf(item)),
}

/** `GET /found-without-webhook` */
export function addFound(api: Api, p: AdminParts): void {
  api.get('/found-without-webhook', { schema }, async ({ query }) => {
    await refuseUnknownNames(p.db.read, p.config(), query)
    return whole(await newestFound(p.db, p.config().accounts, query))
  })
}
