import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import { classOf, mayConnect } from './address-guard.ts'

/** Like `dns.lookup` with `all: true`. */
export type LookupAll = (host: string, options: { readonly all: true }, done: LookupDone) => void
type LookupDone = (error: Error | null, addresses: readonly { readonly address: string; readonly family: number }[]) => void

/** A client certificate with its key, and trusted authorities, as PEM texts. */
export interface TlsContent {
  readonly cert?: string
  readonly key?: string
  /** Trusted authorities. They replace the built-in list. */
  readonly ca?: string
}

/** No connection was opened, because the address isn't allowed. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError'
  readonly host: string
  readonly address: string

  constructor(host: string, address: string) {
    super(refusedAddress(host, address))
    this.host = host
    this.address = address
  }
}

/**
 * Makes a connector that connects only to allowed addresses of a host name. The connector doesn't check a URL that has
 * an IP address. Check such a URL with `mayName` first.
 * @param tls default: no client certificate, and the built-in authorities.
 */
export function guardedConnector(
  allowPrivate: boolean,
  timeoutMs: number,
  lookup: LookupAll,
  tls: TlsContent = {},
): buildConnector.connector {
  const connect = buildConnector({
    ...tls,
    allowH2: false,
    timeout: timeoutMs,
    lookup(host, options, done) {
      lookup(host, { all: true }, (error, addresses) => {
        if (error) return done(error, '', 0)
        const allowed = addresses.filter(({ address }) => mayConnect(address, allowPrivate))
        const [first] = allowed
        if (first === undefined) {
          const [refused] = addresses
          return done(new RefusedAddressError(host, refused?.address ?? 'nothing'), '', 0)
        }
        if (options.all) return done(null, [...allowed])
        return done(null, first.address, first.family)
      })
    },
  })
  return (options, done) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return done(error, null)
      // A TLS alert after the handshake emits an error but leaves the socket open. Destroying the socket makes undici
      // report the alert. Otherwise undici reports only that the other side closed the connection.
      socket.once('error', () => socket.destroy())
      done(null, socket)
    })
}

/**
 * @returns the error text for a refused address.
 * @param host the host name, or the address itself.
 * @param scope what the block applies to.
 */
export function refusedAddress(host: string, address: string, scope = 'unless allow_private is set'): string {
  const which = host === address ? host : `${host} resolves to ${address}, which`
  if (isIP(address) !== 0 && classOf(address) === 'never')
    return `${which} is a special address (unspecified, multicast, reserved, or a cloud's metadata), which is blocked for every destination`
  return `${which} is a loopback, private or otherwise special address, which is blocked ${scope}`
}
