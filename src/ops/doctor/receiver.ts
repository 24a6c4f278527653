import { type AccountConfig, proxySettings } from '../../config/config.ts'
import { findDeliveries } from '../../store/inbox/queries.ts'
import { sendSelfDelivery } from '../../upstream/webhook/self-delivery.ts'
import { bad, type DoctorParts, type Finding, good, NO_DATABASE, skipped, unchecked } from './finding.ts'

/** Sends a signed delivery for each account to its public address, and checks that it arrives here. */
export async function* checkReceiver(p: DoctorParts): AsyncGenerator<Finding> {
  const { publicUrl } = p.config.receiver
  if (publicUrl === null) {
    yield skipped('receiver', 'whether deliveries arrive: PUBLIC_URL is not set; set it to have a signed delivery sent there')
    return
  }
  for (const account of p.config.accounts)
    yield await checkDelivery(p, account, `${publicUrl}/webhooks${account.default ? '' : `/${account.name}`}`)
}

async function checkDelivery({ config, db, clock, host }: DoctorParts, account: AccountConfig, url: string): Promise<Finding> {
  const about = `receiver for account ${account.name}`
  const [secret] = account.webhookSecrets
  if (!secret) return bad(about, 'there is no webhook secret to sign with; set WEBHOOK_SECRETS')
  const sent = await sendSelfDelivery(url, secret, { proxy: proxySettings(config), clock, signal: host.signal })
  if (sent.type === 'unanswered') {
    return bad(
      about,
      `${url} cannot be reached from here (${sent.code}); check its name, certificate and firewall, and that \`serve\` runs. If this machine may not call its own public address, try from outside: curl -i -X POST ${url} must answer 401`,
    )
  }
  if (sent.status !== 204) return bad(about, `a signed delivery to ${url} was answered ${sent.status}: ${whatToDo(sent.status)}`)
  if (db === null) return unchecked(about, `whether a signed delivery to ${url}, which was answered 204, is stored: ${NO_DATABASE}`)
  const stored = await findDeliveries(db.read, sent.id)
  if (stored.length > 0) return good(about, `a signed delivery to ${url} arrived and is stored`)
  return bad(
    about,
    `a signed delivery to ${url} was answered 204, and is not in this database: the address belongs to another installation`,
  )
}

function whatToDo(status: number): string {
  if (status >= 300 && status < 400) return 'it redirects, and senders do not follow redirects; set PUBLIC_URL to the address it leads to'
  switch (status) {
    case 401:
      return 'the receiver refuses the signature: it runs with other secrets (reload or restart it), its clock is wrong, or a proxy rewrites bodies or headers'
    case 404:
      return 'this is not the receiver, or it does not know the account; let the proxy pass POST /webhooks and /webhooks/* on unchanged'
    case 413:
      return 'a proxy limits bodies far too much; let 4 MiB through'
    case 502:
    case 504:
      return 'the proxy does not reach the receiver; check that `serve` runs, and where it listens'
    case 503:
      return 'the receiver cannot store deliveries now; GET /readyz on the ops port says why'
    default:
      return 'this is not an answer of the receiver; check the proxy'
  }
}
