import { BlockList, isIP } from 'node:net'
import { unmapped } from '../../base/client-address.ts'

/** Names that TRUST_PROXY accepts, and the networks they mean. */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/**
 * @param trustProxy the setting TRUST_PROXY: true for all, false for none, or a list of addresses, networks, and
 * names separated by commas.
 * @returns a function that says whether to trust the `X-Forwarded-For` header of a request from an address.
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
