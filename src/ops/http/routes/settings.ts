import { z } from 'zod'
import { shownSettings } from '../../status/settings.ts'
import { answers } from '../api/answers.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { pageOf, whole } from '../api/schemas.ts'

const value = z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()])).readonly()]).nullable()

const setting = z
  .object({
    name: z
      .string()
      .meta({ description: 'its place in the settings file, like `accounts.default.base_url`; times in milliseconds end in `_ms`' }),
    value: value.meta({ description: 'null for a secret, and for what is not set' }),
    is_secret: z.boolean().meta({ description: 'a secret is there; nobody is shown it' }),
  })
  .meta({ id: 'Setting' })

const list = {
  summary: 'the settings that this process goes by, without secrets',
  tags: ['settings'],
  response: answers('all settings', pageOf(setting)),
}

/** `GET /settings` */
export function addSettings(api: Api, p: AdminParts): void {
  api.get('/settings', { schema: list }, () => whole(shownSettings(p.config())))
}
