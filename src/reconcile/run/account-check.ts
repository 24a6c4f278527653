import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../store/engine/db.ts'
import { findAccount, pinBrokerage } from '../../store/reads/accounts.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { AuthRefusedError } from '../../upstream/http/errors.ts'
import { isSameBrokerage } from '../../upstream/wire/answers.ts'
import { attempt } from '../check/attempts.ts'

/** @returns why the account is not to be read now, as the poller found; null when it may be. */
export async function stoppedBecause(db: Db, account: string): Promise<string | null> {
  const row = await findAccount(db.read, account)
  if (row === null || row.state === 'active') return null
  return `account ${account} is ${row.state}: ${row.reason ?? 'no reason is known'}; see \`submission-mirror account list\``
}

/**
 * Asks the service whose credentials these are: those of another brokerage would make everything look as if it were gone.
 * @returns why the account cannot be reconciled; null when it can.
 */
export async function wrongIdentity(
  db: Db,
  clock: Clock,
  client: UpstreamClient,
  account: string,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const asked = await attempt(clock, client, signal, () => client.me(signal))
    if (!asked.ok) return `the service could not be asked whose credentials these are: ${asked.failure.reason}`
    const { brokerage, clientId } = asked.value
    const pinned = (await findAccount(db.read, account))?.brokerage ?? null
    if (pinned !== null && !isSameBrokerage(pinned, brokerage)) {
      return `the credentials belong to brokerage ${brokerage}, but account ${account} holds the data of ${pinned}`
    }
    if (pinned === null && !dryRun) await pinBrokerage(db, account, brokerage, clientId)
    return null
  } catch (error) {
    if (!(error instanceof AuthRefusedError)) throw error
    return refusedCredentials(error)
  }
}

/** What a run says when the account's credentials are refused. */
export function refusedCredentials(error: AuthRefusedError): string {
  return `the service refuses the credentials: ${error.message}; see that client id, secret and base URL are right`
}
