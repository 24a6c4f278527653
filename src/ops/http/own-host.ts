import { isIP } from 'node:net'

/**
 * Whether a request was meant for this server, by its `Host` header: a loopback name or address, the address on which the connection
 * arrived, or the host of OPS_PUBLIC_URL. A web page whose name an attacker points at this machine (DNS rebinding) sends its own name.
 * @param host the header as it came; undefined when there is none.
 * @param localAddress the address on which the connection arrived.
 * @param publicUrl OPS_PUBLIC_URL, when it is set.
 */
export function isOwnHost(host: string | undefined, localAddress: string | undefined, publicUrl: string | undefined): boolean {
  const name = hostnameOf(host)
  if (name === null) return false
  if (name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))) return true
  if (isIP(name) !== 0 && name === localAddress?.replace(/^::ffff:(?=\d+\.)/, '')) return true
  return publicUrl !== undefined && name === hostnameOf(new URL(publicUrl).host)
}

/**
 * Whether a request was sent by a page of this server, by its `Origin` header, which a browser sets: `Host` has been checked before.
 * @param origin the header as it came; undefined when there is none, as with a program or a link.
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined, publicUrl: string | undefined): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  return new URL(origin).host === host || (publicUrl !== undefined && origin === new URL(publicUrl).origin)
}

/** The host of a `Host` header without its port, in lower case and without brackets; null when it is none. */
function hostnameOf(host: string | undefined): string | null {
  if (host === undefined || !/^[\w.:[\]-]{1,300}$/.test(host)) return null
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : null
  return url === null || url.hostname === '' ? null : url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
