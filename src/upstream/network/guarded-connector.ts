import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import { classOf, mayConnect } from './address-guard.ts'

/** As `dns.lookup`, for all addresses. */
export type LookupAll = (host: string, options: { readonly all: true }, done: LookupDone) => void
type LookupDone = (error: Error | null, addresses: readonly { readonly address: string; readonly family: number }[]) => void

/** A client's certificate and trusted authority, as PEM. */
export interface TlsContent {
  readonly cert?: string
  readonly key?: string
  /** Trusted authorities, instead of the built-in ones. */
  readonly ca?: string
}

/** The address was refused without connecting. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError'
}

/**
 * Connects only to allowed addresses of a name. `mayName` checks addresses in URLs first.
 * @param tls default: no client certificate, and the well-known authorities.
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
          return done(new RefusedAddressError(refusedAddress(host, refused?.address ?? 'nothing')), '', 0)
        }
        if (options.all) return done(null, [...allowed])
        return done(null, first.address, first.family)
      })
    },
  })
  return (options, done) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return done(error, null)
      // An alert after the handshake leaves the socket open, and undici would report only the end of the connection.
      socket.once('error', () => socket.destroy())
      done(null, socket)
    })
}

/** The error for a refused address. @param host the name, or the address itself. */
export function refusedAddress(host: string, address: string): string {
  const which = host === address ? host : `${host} resolves to ${address}, which`
  if (isIP(address) !== 0 && classOf(address) === 'never')
    return `${which} is a special address (unspecified, multicast, reserved, or a cloud's metadata), which is refused to every destination`
  return `${which} is a loopback, private or otherwise special address, which is refused (allow_private)`
}
