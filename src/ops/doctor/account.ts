import { limitedTo } from '../../base/abortable.ts'
import { messageOf } from '../../base/errors.ts'
import { silentObserver } from '../../base/observer.ts'
import { type AccountConfig, proxySettings } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import { CREDENTIALS_REFUSED } from '../../poll/account-gate.ts'
import { newestDelivery } from '../../store/completeness/newest-delivery.ts'
import { findAccount } from '../../store/reads/accounts.ts'
import { findPause } from '../../store/reads/pauses.ts'
import { createAccountClient } from '../../upstream/account-client.ts'
import { AuthRefusedError, UpstreamPermanentError } from '../../upstream/http/errors.ts'
import { readServiceClock } from '../../upstream/service-clock.ts'
import { SELF_DELIVERY_TYPE } from '../../upstream/webhook/delivery.ts'
import type { Identity } from '../../upstream/wire/answers.ts'
import { apartText, SKEW_MS, skewText } from '../clocks/clock-text.ts'
import { problem } from '../health/problem.ts'
import { ago, pluralize } from '../output/text.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, skipped, unchecked } from './finding.ts'
import { checkProblems } from './problems.ts'

const PATIENCE_MS = 60_000
/** Clocks agree if they differ by at most this many ms. The service's times are rounded to seconds. */
const CLOCKS_AGREE_MS = 2_000
/** A credential needs one of these scopes to read from the service. */
const READING_SCOPES = ['broker_mcp', 'broker_submit']

export async function* checkAccount(p: DoctorParts, account: AccountConfig): AsyncGenerator<Finding> {
  const about = `account ${account.name}`
  let areAccepted = false
  const pause = p.db === null ? null : await findPause(p.db.read, account.name)
  if (pause !== null)
    yield unchecked(about, `service and credentials: the service asked for a pause until ${pause.until.slice(0, 19)}Z (${pause.reason})`)
  else {
    const { answers, findings } = await checkService(p, account)
    yield* findings
    if (answers) {
      areAccepted = true
      for await (const finding of checkCredentials(p, account)) {
        areAccepted &&= finding.ok !== false
        yield finding
      }
    } else yield unchecked(about, 'its credentials: the service does not answer')
  }
  const row = areAccepted && p.db !== null ? await findAccount(p.db.read, account.name) : null
  // If the service accepts the credentials now, an earlier suspension for rejected credentials is outdated.
  const isFixed = row?.state === 'suspended' && row.reason?.startsWith(CREDENTIALS_REFUSED) === true
  yield* await checkProblems(p, about, (each) => each.account === account.name && !(isFixed && each.name === 'account_stopped'))
  if (isFixed)
    yield bad(
      about,
      `is still suspended: its credentials were rejected earlier, but are accepted now; to retry now, run \`submission-mirror account resume ${account.name}\``,
    )
  yield await checkSecrets(p, account)
}

/** @returns `answers`: true if the service answers. `findings`: about the service and its clock. */
async function checkService(p: DoctorParts, { name, baseUrl }: AccountConfig): Promise<{ answers: boolean; findings: Finding[] }> {
  const { config, clock, host } = p
  const about = `account ${name}`
  try {
    const { aheadMs } = await readServiceClock(baseUrl, proxySettings(config), clock, host.signal)
    if (aheadMs !== null) p.serviceClocks.set(name, -aheadMs)
    return { answers: true, findings: clockFindings(about, baseUrl, aheadMs) }
  } catch (error) {
    host.signal.throwIfAborted()
    const advice = 'check the address, proxy, DNS and firewall'
    return { answers: false, findings: [bad(about, `the service does not answer at ${baseUrl} (${messageOf(error)}); ${advice}`)] }
  }
}

/** @param aheadMs how far our clock is ahead of the service's clock; null if the service's answer has no time. */
function clockFindings(about: string, baseUrl: string, aheadMs: number | null): Finding[] {
  if (aheadMs === null)
    return [
      good(about, `the service answers at ${baseUrl}`),
      skipped(about, "this machine's clock against the service's clock: the answer has no time"),
    ]
  if (Math.abs(aheadMs) > SKEW_MS) return [bad(about, problem('clock_skew', {}, 'on', skewText(aheadMs)).text)]
  const agree =
    Math.abs(aheadMs) <= CLOCKS_AGREE_MS
      ? "this machine's clock agrees with the service's clock"
      : `this machine's clock is ${apartText(aheadMs)}`
  return [good(about, `the service answers at ${baseUrl}, and ${agree}`)]
}

/** Checks every credential of the account. During a rotation, the old and the new credential must both work. */
async function* checkCredentials(p: DoctorParts, account: AccountConfig): AsyncGenerator<Finding> {
  const about = `account ${account.name}`
  for (const credential of account.clientCredentials) {
    const name = isSingle(account) ? 'its credentials' : `credential ${credential.id}`
    const identity = await readIdentity(p, account, credential)
    if (typeof identity === 'string') yield bad(about, `${name}: ${identity}`)
    else yield* checkIdentity(p, account, identity, name)
  }
}

/** @returns who owns the credential; or, if reading the owner failed, a text with the reason and what to do. */
async function readIdentity(
  { config, clock, log, host }: DoctorParts,
  account: AccountConfig,
  credential: AccountConfig['clientCredentials'][number],
): Promise<Identity | string> {
  const client = createAccountClient({ ...config, accounts: [{ ...account, clientCredentials: [credential] }] }, account.name, {
    clock,
    observer: silentObserver,
    log,
  })
  try {
    return await client.me(limitedTo(PATIENCE_MS, host.signal))
  } catch (error) {
    host.signal.throwIfAborted()
    const advice = {
      auth: 'compare id, secret, scope and base URL with the portal',
      other: 'the token was granted, so reads continue; check the base URL, and ask the service',
      transient: 'try again later, and ask the service if it fails again',
    }[error instanceof UpstreamPermanentError ? (error.class === 'auth' ? 'auth' : 'other') : 'transient']
    const what =
      error instanceof UpstreamPermanentError && !(error instanceof AuthRefusedError) ? `GET /broker/me: ${error.what}` : messageOf(error)
    return `the service did not identify their owner (${what}); ${advice}`
  } finally {
    await client.close()
  }
}

async function* checkIdentity(p: DoctorParts, account: AccountConfig, identity: Identity, name: string): AsyncGenerator<Finding> {
  const about = `account ${account.name}`
  const { brokerage, scopes } = identity
  const pinned = p.db === null ? null : ((await findAccount(p.db.read, account.name))?.brokerage ?? null)
  if (pinned !== null && pinned !== brokerage) {
    const belongs = isSingle(account) ? 'belong' : 'belongs'
    const whose = `${name} ${belongs} to brokerage ${brokerage}, but this account holds the data of ${pinned}`
    yield bad(about, `${whose}; configure another account for that brokerage`)
    return
  }
  if (scopes && !scopes.some((scope) => READING_SCOPES.includes(scope))) {
    yield bad(
      about,
      `${name} ${isSingle(account) ? 'have' : 'has'} the scope ${scopes.join(' ')}, but reading needs broker_mcp; create a key with that scope in the portal`,
    )
    return
  }
  const writes = scopes?.includes('broker_submit') ? ', which also allows writing; a read-only key is enough' : ''
  const may = scopes ? `, scope ${scopes.join(' ')}${writes}` : ''
  yield good(about, `the service accepts ${name}, brokerage ${brokerage}${may}`)
  if (!scopes) yield skipped(about, `the scope of ${name}: the service does not show it`)
  if (p.db === null) yield unchecked(about, `whether this account holds the data of brokerage ${brokerage}: ${NO_DATABASE}`)
}

function isSingle({ clientCredentials }: AccountConfig): boolean {
  return clientCredentials.length === 1
}

async function checkSecrets({ db, clock }: DoctorParts, { name, webhookSecrets }: AccountConfig): Promise<Finding> {
  const about = `account ${name}`
  const count = pluralize(webhookSecrets.length, 'webhook secret')
  const given = `whether the endpoint signs with ${webhookSecrets.length === 1 ? 'the' : 'one of the'} ${count}`
  if (db === null) return unchecked(about, `${given}: ${NO_DATABASE}`)
  const newest = await newestDelivery(db.read, name, SELF_DELIVERY_TYPE, timeFromMs(clock.now()))
  if (newest === null) return skipped(about, `${given}: no recent delivery`)
  const which = webhookSecrets.length === 1 ? 'it' : `secret ${newest.secret} of the settings`
  return good(
    about,
    `${count} with a valid format; the newest delivery arrived ${ago(newest.receivedAt, clock.now())} ago and was signed with ${which}`,
  )
}
