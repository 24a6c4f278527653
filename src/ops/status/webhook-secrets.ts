import { z } from 'zod'
import type { AccountConfig } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import { lastUses } from '../../store/reads/last-uses.ts'
import { secretTag } from '../../upstream/webhook/signature.ts'
import { time } from '../output/schema.ts'
import { when } from '../output/text.ts'

/**
 * Configured webhook secrets of an account. A delivery that two secrets signed counts only for the first secret.
 * Times are accurate to about 10 s.
 */
export const webhookSecrets = z
  .array(z.object({ position: z.int(), last_verified_at: time.nullable() }))
  .readonly()
  .describe('last verified delivery of each, in the order of the settings')

type SecretStates = z.output<typeof webhookSecrets>

/**
 * @returns when each secret last verified a delivery, by account name.
 * An old secret that no longer verifies deliveries can be removed (trap 37).
 */
export async function secretStates(
  q: Query,
  accounts: readonly Pick<AccountConfig, 'name' | 'webhookSecrets'>[],
): Promise<ReadonlyMap<string, SecretStates>> {
  const lastUse = await lastUses(q, 'webhook_secret')
  return new Map(
    accounts.map(({ name, webhookSecrets }) => [
      name,
      webhookSecrets.map((secret, index) => ({
        position: index + 1,
        last_verified_at: lastUse(name, secretTag(secret)),
      })),
    ]),
  )
}

/** @returns when each secret was last used, such as `secret 1: 3 min ago, secret 2: never`. */
export function secretsText(states: SecretStates, nowMs: number): string {
  return states.map(({ position, last_verified_at: at }) => `secret ${position}: ${at === null ? 'never' : when(at, nowMs)}`).join(', ')
}
