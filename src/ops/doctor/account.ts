import { messageOf } from '../../base/errors.ts'
import { silentObserver } from '../../base/observer.ts'
import { type AccountConfig, proxySettings } from '../../config/config.ts'
import { newestDelivery } from '../../store/completeness/newest-delivery.ts'
import { findAccount } from '../../store/reads/accounts.ts'
import { createAccountClient } from '../../upstream/account-client.ts'
import { upstreamClass } from '../../upstream/http/errors.ts'
import { readServiceClock } from '../../upstream/service-clock.ts'
import { SELF_DELIVERY_TYPE } from '../../upstream/webhook/delivery.ts'
import { type Identity, isSameBrokerage } from '../../upstream/wire/answers.ts'
import { ago, pluralize } from '../output/text.ts'
import { bad, type DoctorParts, type Finding, good } from './finding.ts'

const PATIENCE_MS = 60_000
/** A delivery is refused when its time lies 300 s away. */
const CLOCKS_APART_MS = 60_000
/** Less is the grain of the answer's time. */
const CLOCKS_AGREE_MS = 2_000
/** Any of them lets a key read. */
const READING_SCOPES = ['broker_mcp', 'broker_submit']

/** Looks at an account: the service, its clock, each credential, and what is known of its deliveries. */
export async function* examineAccount(p: DoctorParts, account: AccountConfig): AsyncGenerator<Finding> {
  const about = `account ${account.name}`
  const { answers, finding } = await examineService(p, account)
  yield finding
  // Whoever does not answer at all takes no credentials either.
  if (answers) yield* examineCredentials(p, account)
  const row = p.db === null ? null : await findAccount(p.db.read, account.name)
  if (row && row.state !== 'active') {
    yield bad(
      about,
      `it is ${row.state}: ${row.reason ?? 'no reason is kept'}; \`submission-mirror account resume ${account.name}\` tries now`,
    )
  }
  yield await examineSecrets(p, account)
}

/** @returns whether the service answers at all, and what is to be said of it and its clock. */
async function examineService(p: DoctorParts, { name, baseUrl }: AccountConfig): Promise<{ answers: boolean; finding: Finding }> {
  const { config, clock, host } = p
  const about = `account ${name}`
  try {
    const { aheadMs } = await readServiceClock(baseUrl, proxySettings(config), clock, host.signal)
    return { answers: true, finding: clockFinding(about, baseUrl, aheadMs) }
  } catch (error) {
    host.signal.throwIfAborted()
    const mend = 'see whether that is its address, and whether it can be reached from here (proxy, DNS, firewall)'
    return { answers: false, finding: bad(about, `the service does not answer at ${baseUrl} (${messageOf(error)}); ${mend}`) }
  }
}

/** @param aheadMs by how much our clock is ahead of the service's; null when that does not say. */
function clockFinding(about: string, baseUrl: string, aheadMs: number | null): Finding {
  if (aheadMs === null) return good(about, `the service answers at ${baseUrl}; it does not say what time it has`)
  const apart = `${(Math.abs(aheadMs) / 1000).toFixed(0)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the service's clock`
  if (Math.abs(aheadMs) > CLOCKS_APART_MS) {
    return bad(about, `the clock of this machine is ${apart}; mend it (NTP): from 300 s on every delivery is refused`)
  }
  const agree = Math.abs(aheadMs) <= CLOCKS_AGREE_MS ? "our clock agrees with the service's clock" : `our clock is ${apart}`
  return good(about, `the service answers at ${baseUrl}, and ${agree}`)
}

/** Each by itself: while one replaces another, both must be good. */
async function* examineCredentials(p: DoctorParts, account: AccountConfig): AsyncGenerator<Finding> {
  const about = `account ${account.name}`
  for (const credential of account.credentials) {
    const name = account.credentials.length === 1 ? 'its credentials' : `credential ${credential.id}`
    const identity = await askIdentity(p, account, credential)
    if (typeof identity === 'string') yield bad(about, `${name}: ${identity}`)
    else yield await examineIdentity(p, account, identity, name)
  }
}

async function askIdentity(
  { config, clock, log, host }: DoctorParts,
  account: AccountConfig,
  credential: AccountConfig['credentials'][number],
): Promise<Identity | string> {
  const client = createAccountClient({ ...config, accounts: [{ ...account, credentials: [credential] }] }, account.name, {
    clock,
    observer: silentObserver,
    log,
  })
  try {
    return await client.me(AbortSignal.any([host.signal, AbortSignal.timeout(PATIENCE_MS)]))
  } catch (error) {
    host.signal.throwIfAborted()
    const refused = ['auth', 'rejected', 'gone'].includes(upstreamClass(error) ?? '')
    const mend = refused
      ? 'compare id, secret, scope and base URL with the portal'
      : 'try again later, and ask the service when it stays so'
    return `the service could not be asked whose they are (${messageOf(error)}); ${mend}`
  } finally {
    await client.close()
  }
}

async function examineIdentity(p: DoctorParts, account: AccountConfig, identity: Identity, name: string): Promise<Finding> {
  const about = `account ${account.name}`
  const { brokerage, scopes } = identity
  const pinned = p.db === null ? null : ((await findAccount(p.db.read, account.name))?.brokerage ?? null)
  if (pinned !== null && !isSameBrokerage(pinned, brokerage)) {
    const belongs = account.credentials.length === 1 ? 'belong' : 'belongs'
    const whose = `${name} ${belongs} to brokerage ${brokerage}, but it holds the data of ${pinned}`
    return bad(about, `${whose}; give that brokerage an account of its own`)
  }
  if (scopes && !scopes.some((scope) => READING_SCOPES.includes(scope))) {
    return bad(about, `${name} may do ${scopes.join(' ')}, and reading needs broker_mcp; create a key that has it in the portal`)
  }
  const writes = scopes?.includes('broker_submit') ? ', which lets it write too: a read-only key is enough' : ''
  const may = scopes ? `, scope ${scopes.join(' ')}${writes}` : '; it does not say which scopes they have'
  return good(about, `the service takes ${name}, brokerage ${brokerage}${may}`)
}

async function examineSecrets({ db, clock }: DoctorParts, { name, webhookSecrets }: AccountConfig): Promise<Finding> {
  const about = `account ${name}`
  const count = pluralize(webhookSecrets.length, 'webhook secret')
  const newest = db === null ? null : await newestDelivery(db.read, name, SELF_DELIVERY_TYPE)
  if (db === null) return good(about, `${count} of the right form`)
  if (newest === null) return good(about, `${count} of the right form; no delivery came lately`)
  return good(
    about,
    `${count} of the right form; the newest delivery came ${ago(newest.receivedAt, clock.now())} ago, signed with number ${newest.secret}`,
  )
}
