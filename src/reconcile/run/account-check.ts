import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../store/engine/db.ts'
import { findAccount, pinBrokerage } from '../../store/reads/accounts.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError } from '../../upstream/http/errors.ts'
import { attempt } from '../check/attempts.ts'

/** @returns why an account that is suspended or paused must not be read; null when it is active. */
export async function inactiveReason(db: Db, account: string): Promise<string | null> {
  const row = await findAccount(db.read, account)
  if (row === null || row.state === 'active') return null
  return `account ${account} is ${row.state}: ${row.reason ?? 'no reason is known'}; see \`submission-mirror account list\``
}

/**
 * Asks the service which brokerage the credentials belong to: with those of another one, every submission would look gone.
 * @returns why the account cannot be reconciled; null when it can.
 */
export async function identityProblem(
  db: Db,
  clock: Clock,
  client: UpstreamClient,
  account: string,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const identity = await attempt(clock, client, signal, () => client.me(signal))
    if (!identity.ok) return `reading the identity behind the credentials failed: ${identity.failure.reason}`
    const { brokerage } = identity.value
    const pinned = (await findAccount(db.read, account))?.brokerage ?? null
    if (pinned !== null && pinned !== brokerage) {
      return `the credentials belong to brokerage ${brokerage}, but account ${account} holds the data of ${pinned}`
    }
    if (pinned === null && !dryRun) await pinBrokerage(db, account, identity.value)
    return null
  } catch (error) {
    if (!(error instanceof AuthRefusedError)) throw error
    return credentialsProblem(error)
  }
}

/** @returns the note of a run whose credentials the service refuses. */
export function credentialsProblem(error: AuthRefusedError): string {
  return `the service refuses the credentials: ${error.message}; check client id, secret and base URL`
}
