import { proxySettings } from '../../config/config.ts'
import { trustedProxies } from '../../receive/connections/trusted-proxies.ts'
import { findDeliveries } from '../../store/inbox/queries.ts'
import type { Arrival } from '../../upstream/webhook/delivery.ts'
import { type SelfDelivery, sendSelfDelivery } from '../../upstream/webhook/self-delivery.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, skipped, unchecked } from './finding.ts'

/** Bytes that a large test delivery reserves for its fields. Filler takes the rest, up to the size limit. */
const ROOM_BYTES = 1_024

/** Sends a signed delivery to the public address of each account, and checks that the delivery is stored. */
export async function* checkReceiver(p: DoctorParts): AsyncGenerator<Finding> {
  const { publicUrl } = p.config.receiver
  if (publicUrl === null) {
    yield skipped('receiver', 'whether deliveries arrive; set PUBLIC_URL to send a signed delivery there')
    return
  }
  let isProxyTried = false
  for (const account of p.config.accounts) {
    const about = `receiver for account ${account.name}`
    const [secret] = account.webhookSecrets
    if (!secret) {
      yield bad(about, 'there is no webhook secret; set WEBHOOK_SECRETS')
      continue
    }
    const url = `${publicUrl}/webhooks${account.default ? '' : `/${account.name}`}`
    const sent = await sendSelfDelivery(url, secret, sending(p))
    yield await checkArrival(p, about, url, sent)
    // All accounts share one proxy, so check the proxy only once.
    if (isProxyTried || sent.type === 'unanswered' || sent.status !== 204) continue
    isProxyTried = true
    yield* checkSender(p.config.receiver.trustProxy, about, sent.arrival)
    yield checkSize(
      about,
      await sendSelfDelivery(url, secret, { ...sending(p), bytes: Math.max(0, p.config.receiver.bodyLimit - ROOM_BYTES) }),
      p.config.receiver.bodyLimit,
    )
  }
}

function sending({ config, clock, host }: DoctorParts) {
  return { proxy: proxySettings(config), clock, signal: host.signal }
}

async function checkArrival({ db }: DoctorParts, about: string, url: string, sent: SelfDelivery): Promise<Finding> {
  if (sent.type === 'unanswered') {
    return bad(
      about,
      `${url} cannot be reached from here (${sent.code}); check its name, certificate and firewall, and that \`serve\` runs. If this machine cannot call its own public address, run \`curl -i -X POST ${url}\` from outside; it must answer 401`,
    )
  }
  if (sent.status !== 204) return bad(about, `a signed delivery to ${url} was answered ${sent.status}: ${whatToDo(sent.status)}`)
  if (db === null) return unchecked(about, `whether a signed delivery to ${url} (answered 204) is stored: ${NO_DATABASE}`)
  const stored = await findDeliveries(db.read, sent.id)
  if (stored.length > 0) return good(about, `a signed delivery to ${url} arrived and is stored`)
  return bad(
    about,
    `a signed delivery to ${url} was answered 204, but is not in this database; the address belongs to another installation`,
  )
}

/** Checks that the receiver sees each sender's own address, not the proxy's, because limits apply per address. */
function* checkSender(trustProxy: boolean | string, about: string, how: Arrival | null): Generator<Finding> {
  if (how === null) return
  const { peer, sender, is_forwarded } = how
  if (trustProxy === false) {
    if (is_forwarded)
      yield bad(
        about,
        `a proxy at ${peer} forwards sender addresses, but is not trusted, so all senders share one limit; set TRUST_PROXY=${peer}`,
      )
    return
  }
  if (!is_forwarded)
    yield bad(
      about,
      `TRUST_PROXY is set, but a delivery from ${peer} had no X-Forwarded-For; configure the proxy to send it, or unset TRUST_PROXY`,
    )
  // With a proxy on this host, `sender` equals `peer` even if the proxy is trusted, so check TRUST_PROXY too.
  else if (sender === peer && !trustedProxies(trustProxy)(peer))
    yield bad(about, `deliveries come from ${peer}, which is not in TRUST_PROXY, so all senders share one limit; set TRUST_PROXY=${peer}`)
  else yield good(about, `the proxy at ${peer} is trusted to forward sender addresses`)
}

function checkSize(about: string, sent: SelfDelivery, limitBytes: number): Finding {
  const what = `a signed delivery of nearly ${(limitBytes / 1024 ** 2).toFixed(1).replace(/\.0$/, '')} MiB (the limit)`
  if (sent.type === 'answered' && sent.status === 204) return good(about, `${what} arrived too`)
  const came = sent.type === 'unanswered' ? `got no answer (${sent.code})` : `was answered ${sent.status}`
  return bad(
    about,
    `${what} ${came}, although a short one arrived; configure the proxy to accept bodies of this size, and to wait 10 s for the answer`,
  )
}

function whatToDo(status: number): string {
  if (status >= 300 && status < 400) return 'senders do not follow redirects; set PUBLIC_URL to the redirect target'
  switch (status) {
    case 401:
      return 'the receiver rejects the signature: it runs with other secrets (reload or restart it), its clock is wrong, or a proxy rewrites bodies or headers'
    case 404:
      return 'this is not the receiver, or it does not know the account; configure the proxy to forward POST /webhooks and /webhooks/* unchanged'
    case 413:
      return 'a proxy limits bodies too much; allow 4 MiB'
    case 502:
    case 504:
      return 'the proxy does not reach the receiver; check that `serve` runs, and where it listens'
    case 503:
      return 'the receiver cannot store deliveries; GET /readyz on the ops port shows why'
    default:
      return 'this is not an answer of the receiver; check the proxy'
  }
}
