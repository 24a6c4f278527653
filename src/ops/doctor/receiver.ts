import { type AccountConfig, proxySettings } from '../../config/config.ts'
import { findDeliveries } from '../../store/inbox/queries.ts'
import { sendSelfDelivery } from '../../upstream/webhook/self-delivery.ts'
import { bad, type DoctorParts, type Finding, good } from './finding.ts'

/** Sends each account a signed delivery by the way that the service's take, and looks whether it arrived here. */
export async function* examineReceiver(p: DoctorParts): AsyncGenerator<Finding> {
  const { publicUrl } = p.config.receiver
  if (publicUrl === undefined) {
    yield good('receiver', 'PUBLIC_URL is not set, so whether deliveries reach it was not tried; set it to have that tried')
    return
  }
  for (const account of p.config.accounts)
    yield await examineWay(p, account, `${publicUrl}/webhooks${account.isDefault ? '' : `/${account.name}`}`)
}

async function examineWay({ config, db, clock, host }: DoctorParts, account: AccountConfig, url: string): Promise<Finding> {
  const about = `receiver for account ${account.name}`
  const [secret] = account.webhookSecrets
  if (!secret) return bad(about, 'there is no webhook secret to sign with; set WEBHOOK_SECRETS')
  const sent = await sendSelfDelivery(url, secret, { proxy: proxySettings(config), clock, signal: host.signal })
  if (sent.type === 'unanswered') {
    return bad(
      about,
      `${url} cannot be reached from here (${sent.code}); see to its name, certificate and firewall, and whether \`serve\` runs. Where this machine may not call its own public address, try from outside: curl -i -X POST ${url} must answer 401`,
    )
  }
  if (sent.status !== 204) return bad(about, `a signed delivery to ${url} was answered ${sent.status}: ${whatToDo(sent.status)}`)
  if (db === null) return good(about, `a signed delivery to ${url} was answered 204; whether it is in this database could not be looked up`)
  const stored = await findDeliveries(db.read, sent.id)
  if (stored.length > 0) return good(about, `a signed delivery to ${url} arrived and is stored`)
  return bad(about, `a signed delivery to ${url} was answered 204, and is not in this database: the address leads to another installation`)
}

function whatToDo(status: number): string {
  if (status >= 300 && status < 400) return 'it redirects, and senders do not follow; let the address itself lead to the receiver'
  switch (status) {
    case 401:
      return 'the receiver refuses the signature; it runs with other secrets (reload or restart it), its clock is wrong, or something before it rewrites bodies or headers'
    case 404:
      return 'what answers there is not the receiver, or does not know the account; pass POST /webhooks and /webhooks/* on unchanged'
    case 413:
      return 'something before the receiver limits bodies far too much; let 4 MiB through'
    case 502:
    case 504:
      return 'what stands before the receiver does not reach it; see whether `serve` runs, and where it listens'
    case 503:
      return 'the receiver cannot store now; GET /readyz on the ops port says why'
    default:
      return 'that is no answer of the receiver; see what stands before it'
  }
}
