import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/**
 * @returns true if the `Host` header names this server.
 * Accepts loopback names and addresses, the address of the connection, and the host of OPS_PUBLIC_URL.
 * This prevents DNS rebinding, where a foreign web page uses its own name for this machine.
 * @param localAddress address on which the connection arrived.
 * @param publicUrl OPS_PUBLIC_URL; null if not set.
 */
export function isOwnHost(host: string | undefined, localAddress: string | undefined, publicUrl: string | null): boolean {
  const name = hostnameOf(host)
  if (name === null) return false
  if (name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))) return true
  if (isIP(name) !== 0 && name === localAddress?.replace(/^::ffff:(?=\d+\.)/, '')) return true
  return publicUrl !== null && name === hostnameOf(new URL(publicUrl).host)
}

/**
 * @returns true if a page of this server sent the request.
 * @param origin the `Origin` header.
 * @param host the `Host` header, already checked by `isOwnHost`.
 */
export function isOwnOrigin(origin: string | undefined, host: string | undefined, publicUrl: string | null): boolean {
  const url = URL.parse(origin ?? '')
  if (url === null) return false
  return url.host === URL.parse(`http://${host}`)?.host || (publicUrl !== null && url.origin === new URL(publicUrl).origin)
}

/**
 * @returns this server's URL in the browser, without a trailing slash.
 * Returns OPS_PUBLIC_URL if its host is in `Host`, `X-Forwarded-Host` or the page's origin.
 * Otherwise returns `http://` and the `Host` header. Compares hosts without port and case, because proxies change both.
 * @param from origin of the page with the link. Needed because browsers send no `Origin` header for a link.
 */
export function ownUrlOf(headers: IncomingHttpHeaders, publicUrl: string | null, from?: string): string {
  const [forwarded] = String(headers['x-forwarded-host'] ?? '').split(',')
  const origins = [headers.origin, from].map((origin) => URL.parse(origin ?? '')?.host)
  const names = [headers.host, forwarded?.trim(), ...origins].map(hostnameOf)
  const isPublic = publicUrl !== null && names.includes(hostnameOf(new URL(publicUrl).host))
  return isPublic ? publicUrl : `http://${headers.host}`
}

/** @returns the host without port and brackets, in lower case; null if malformed. */
function hostnameOf(host: string | undefined): string | null {
  if (host === undefined || !/^[\w.:[\]-]{1,300}$/.test(host)) return null
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : null
  return url === null || url.hostname === '' ? null : url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}
