import { isIPv6 } from 'node:net'

/** Longer addresses are cut to this many characters, because a trusted proxy can send any text as the address. */
const MAX_ADDRESS_LENGTH = 64

/**
 * @returns a key for counting requests by sender: an IPv4 address, or the first `groups` groups of an IPv6 address.
 * @param groups number of 16-bit groups. 4 groups identify an IPv6 network (/64).
 */
export function addressKey(address: string, groups = 4): string {
  const text = address.slice(0, MAX_ADDRESS_LENGTH)
  if (!isIPv6(text)) return text
  const mapped = unmapped(text)
  if (mapped !== text) return mapped
  const [head = [], tail = []] = text.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0')
  return [...head, ...zeros, ...tail]
    .slice(0, groups)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}

/** @returns `1.2.3.4` for `::ffff:1.2.3.4`; any other text unchanged. */
export function unmapped(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}
