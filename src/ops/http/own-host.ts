import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/**
 * Whether a request was meant for this server, by its `Host` header: a loopback name or address, the address on which the connection
 * arrived, or the host of OPS_PUBLIC_URL. A web page whose name an attacker points at this machine (DNS rebinding) sends its own name.
 * @param host the header as it came; undefined when there is none.
 * @param localAddress the address on which the connection arrived.
 * @param publicUrl OPS_PUBLIC_URL, when it is set.
 */
export function isOwnHost(host: string | undefined, localAddress: string | undefined, publicUrl: string | null): boolean {
  const name = hostnameOf(host)
  if (name === null) return false
  if (name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))) return true
  if (isIP(name) !== 0 && name === localAddress?.replace(/^::ffff:(?=\d+\.)/, '')) return true
  return publicUrl !== null && name === hostnameOf(new URL(publicUrl).host)
}

/**
 * Whether a request was sent by a page of this server, by its `Origin` header, which a browser sets: `Host` has been checked before.
 * @param origin the header as it came; undefined when there is none, as with a program or a link.
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined, publicUrl: string | null): boolean {
  const url = URL.parse(origin ?? '')
  if (url === null) return false
  return url.host === URL.parse(`http://${host}`)?.host || (publicUrl !== null && url.origin === new URL(publicUrl).origin)
}

/**
 * The URL by which the browser of a request knows this server, without a slash at its end: OPS_PUBLIC_URL where `Host` names its host, or
 * where a proxy put its own address there and `X-Forwarded-Host`, or what the browser says of its page, names it. Ports and case are left
 * out, because proxies change them.
 * @param from the origin of the browser's page, where the request says it in another way than by `Origin`, which links do not bear.
 */
export function ownUrlOf(headers: IncomingHttpHeaders, publicUrl: string | null, from?: string): string {
  const [forwarded] = String(headers['x-forwarded-host'] ?? '').split(',')
  const origins = [headers.origin, from].map((origin) => URL.parse(origin ?? '')?.host)
  const names = [headers.host, forwarded?.trim(), ...origins].map(hostnameOf)
  const isPublic = publicUrl !== null && names.includes(hostnameOf(new URL(publicUrl).host))
  return isPublic ? publicUrl : `http://${headers.host}`
}

/** The host of a `Host` header without its port, in lower case and without brackets; null when it is none. */
function hostnameOf(host: string | undefined): string | null {
  if (host === undefined || !/^[\w.:[\]-]{1,300}$/.test(host)) return null
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : null
  return url === null || url.hostname === '' ? null : url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
