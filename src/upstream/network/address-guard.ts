import { BlockList, isIP } from 'node:net'

/** `public` addresses are allowed. `private` addresses need `allow_private`. `never` addresses are always refused. */
type AddressClass = 'public' | 'private' | 'never'

type Range = readonly [network: string, prefix: number]

/**
 * Loopback, private, link-local, and shared addresses, and ranges for documentation, benchmarks, and
 * other special uses.
 */
const PRIVATE_V4: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
]
/** Unspecified, multicast, and reserved addresses, and metadata services of clouds, which expose credentials. */
const NEVER_V4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['169.254.169.254', 32],
  ['169.254.169.253', 32],
  ['169.254.170.2', 32],
  ['169.254.170.23', 32],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
]
const PRIVATE_V6: readonly Range[] = [
  ['::1', 128],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
]
const NEVER_V6: readonly Range[] = [
  ['::', 128],
  ['ff00::', 8],
  ['fd00:ec2::254', 128],
  ['fd00:ec2::23', 128],
  ['fd20:ce::254', 128],
]

const lists = {
  never: { 4: listOf(NEVER_V4, 'ipv4'), 6: listOf(NEVER_V6, 'ipv6') },
  private: { 4: listOf(PRIVATE_V4, 'ipv4'), 6: listOf(PRIVATE_V6, 'ipv6') },
} as const

/** An IPv6 prefix whose addresses contain an IPv4 address. `bytes` are the positions of the four IPv4 bytes. */
interface Holder {
  readonly prefix: readonly number[]
  readonly bytes: readonly [number, number, number, number]
  /** All bytes from this position must be zero. */
  readonly zeroFrom?: number
}

const HOLDERS: readonly Holder[] = [
  { prefix: [0, 0, 0, 0, 0, 0xffff], bytes: [12, 13, 14, 15] },
  { prefix: [0, 0, 0, 0, 0xffff, 0], bytes: [12, 13, 14, 15] },
  { prefix: [0, 0, 0, 0, 0, 0], bytes: [12, 13, 14, 15] },
  { prefix: [0x64, 0xff9b, 0, 0, 0, 0], bytes: [12, 13, 14, 15] },
  { prefix: [0x2002], bytes: [2, 3, 4, 5] },
]
/** Prefixes of local IPv4 translators (RFC 8215, RFC 6052). `PRIVATE_V6` contains the addresses with these prefixes. */
const PRIVATE_HOLDERS: readonly Holder[] = [
  { prefix: [0x64, 0xff9b, 1], bytes: [6, 7, 9, 10], zeroFrom: 11 },
  { prefix: [0x64, 0xff9b, 1], bytes: [7, 9, 10, 11], zeroFrom: 12 },
  { prefix: [0x64, 0xff9b, 1], bytes: [9, 10, 11, 12], zeroFrom: 13 },
  { prefix: [0x64, 0xff9b, 1], bytes: [12, 13, 14, 15] },
]

/**
 * @param address an IP address, with or without a zone (`%eth0`).
 * @returns the class; `never` if the text isn't an IP address.
 */
export function classOf(address: string): AddressClass {
  const bare = address.replace(/%.*$/, '')
  const version = isIP(bare)
  if (version === 4) return classIn(bare, 4)
  if (version !== 6) return 'never'
  const own = classIn(bare, 6)
  if (own === 'never') return own
  const held = heldV4(groupsOf(bare), own === 'public' ? HOLDERS : PRIVATE_HOLDERS)
  const heldClass = held === null ? own : classIn(held, 4)
  // A public IPv4 address inside a private IPv6 address doesn't make the address public.
  return heldClass === 'public' ? own : heldClass
}

export function mayConnect(address: string, allowPrivate: boolean): boolean {
  const found = classOf(address)
  return found === 'public' || (found === 'private' && allowPrivate)
}

/**
 * Checks a host before DNS resolution. Refuses forbidden IP addresses. Also refuses `localhost`, if `allowPrivate` is
 * false.
 * @param host from a URL; IPv6 with or without brackets.
 */
export function mayName(host: string, allowPrivate: boolean): boolean {
  const bare = bareHost(host).replace(/\.$/, '')
  if (isIP(bare) !== 0) return mayConnect(bare, allowPrivate)
  return allowPrivate || !/^(?:.+\.)?localhost$/i.test(bare)
}

/** Removes the brackets around an IPv6 address. */
export function bareHost(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

function classIn(address: string, version: 4 | 6): AddressClass {
  const family = version === 4 ? 'ipv4' : 'ipv6'
  if (lists.never[version].check(address, family)) return 'never'
  return lists.private[version].check(address, family) ? 'private' : 'public'
}

function heldV4(groups: readonly number[], holders: readonly Holder[]): string | null {
  const all = groups.flatMap((group) => [group >> 8, group & 255])
  const holder = holders.find(
    ({ prefix, zeroFrom = all.length }) =>
      prefix.every((group, position) => groups[position] === group) && all.slice(zeroFrom).every((byte) => byte === 0),
  )
  return holder === undefined ? null : holder.bytes.map((at) => all[at]).join('.')
}

function groupsOf(address: string): number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  })
  const [head = '', tail] = hex.split('::')
  const read = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const before = read(head)
  if (tail === undefined) return before
  const after = read(tail)
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function listOf(ranges: readonly Range[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) list.addSubnet(network, prefix, family)
  return list
}
