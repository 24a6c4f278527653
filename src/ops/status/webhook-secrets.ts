import type { AccountConfig } from '../../config/config.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { lastUses } from '../../store/reads/last-uses.ts'
import { secretTag } from '../../upstream/webhook/signature.ts'
import { ago } from '../output/text.ts'

/** A webhook secret of the settings, by its place there. */
export interface SecretState {
  /** From 1. */
  readonly position: number
  /** When it verified a delivery last, to some ten seconds; null when it never did. A delivery that two secrets signed counts for the first. */
  readonly last_verified_at: TimeText | null
}

/** The secrets of each configured account, by its name. An old secret that verifies nothing any more can be removed (trap 37). */
export async function secretStates(
  q: Query,
  accounts: readonly Pick<AccountConfig, 'name' | 'webhookSecrets'>[],
): Promise<ReadonlyMap<string, readonly SecretState[]>> {
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

/** @returns `1: 3 min ago, 2: never`. */
export function secretsText(states: readonly SecretState[], nowMs: number): string {
  return states.map(({ position, last_verified_at: at }) => `${position}: ${at === null ? 'never' : `${ago(at, nowMs)} ago`}`).join(', ')
}
