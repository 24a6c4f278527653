import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { abortable, limitedTo } from '../../base/abortable.ts'
import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { FileDestination } from '../../config/config.ts'
import { mayConnect } from '../../upstream/network/address-guard.ts'
import { refusedAddress } from '../../upstream/network/guarded-connector.ts'
import { directHintFor } from '../transport/network-hints.ts'
import type { Dial } from './sftp.ts'

/** DNS and TCP functions. Tests pass their own. */
interface Network {
  readonly lookup: (host: string, options: { readonly all: true }) => Promise<readonly { readonly address: string }[]>
  readonly connect: (options: { readonly host: string; readonly port: number; readonly noDelay: true }) => Socket
}

/** Time limit per address, in ms. Leaves time for the next address and the transfer. */
const ADDRESS_MS = 5_000

/**
 * @returns a function that connects to a host. The function tries the allowed addresses of the host one after another.
 */
export function dial(
  { allowHosts, allowPrivate, timeoutMs }: Pick<FileDestination, 'allowHosts' | 'allowPrivate' | 'timeoutMs'>,
  network: Network = { lookup, connect },
): Dial {
  return async (host, port, signal) => {
    if (allowHosts !== null && !allowHosts.includes(host))
      throw new PermanentError(`allow_hosts does not list ${host}; add the host if you trust it`)
    const found = await addressesOf(network, host, signal)
    const allowed = found.filter((address) => mayConnect(address, allowPrivate))
    if (allowed.length === 0) throw new PermanentError(refusedAddress(host, found[0] ?? 'nothing'))
    const addressMs = Math.min(ADDRESS_MS, Math.floor(timeoutMs / (2 * allowed.length)))
    let failure = ''
    for (const [index, address] of allowed.entries()) {
      const isLast = index === allowed.length - 1
      try {
        const socket = network.connect({ host: address, port, noDelay: true })
        return await connected(socket, isLast ? signal : limitedTo(addressMs, signal))
      } catch (error) {
        if (error === signal.reason) throw error
        failure = explained(error)
      }
    }
    throw new TransientError(`cannot connect to ${host}:${port}: ${failure}`)
  }
}

async function addressesOf({ lookup }: Network, host: string, signal: AbortSignal): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  try {
    return (await abortable(lookup(host, { all: true }), signal)).map(({ address }) => address)
  } catch (error) {
    if (error === signal.reason) throw error
    throw new TransientError(`cannot find the address of ${host}: ${explained(error)}`, { cause: error })
  }
}

async function connected(socket: Socket, signal: AbortSignal): Promise<Socket> {
  try {
    await abortable(once(socket, 'connect'), signal)
    // Without a listener, a reset of the connection would end this process. The caller detects the
    // closed socket anyway.
    socket.on('error', () => undefined)
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

function explained(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const hint = directHintFor(code)
  return hint === null ? messageOf(error) : `${code}: ${hint}`
}
