import { BlockList, isIP } from 'node:net'
import { unmapped } from '../../base/client-address.ts'

/** Names in TRUST_PROXY, as the HTTP server reads them. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/**
 * @param trustProxy the setting TRUST_PROXY: nobody, everybody, or addresses, networks and names separated by commas. @returns whether an
 * address belongs to a proxy whose `X-Forwarded-For` is trusted.
 */
export function trustedProxies(trustProxy: boolean | string): (address: string) => boolean {
  if (typeof trustProxy === 'boolean') return () => trustProxy
  const list = new BlockList()
  for (const item of trustProxy.split(',').flatMap((name) => NAMED[name] ?? [name])) {
    const [address = '', bits] = item.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const plain = unmapped(address)
    const version = isIP(plain)
    return version !== 0 && list.check(plain, version === 6 ? 'ipv6' : 'ipv4')
  }
}
