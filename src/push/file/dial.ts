import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { abortable } from '../../abortable.ts'
import type { FileDestination } from '../../config.ts'
import { messageOf, PermanentError, TransientError } from '../../errors.ts'
import { mayConnect } from '../address-guard.ts'
import { refusedAddress } from '../guarded-connector.ts'
import { directHintFor } from '../network-hints.ts'
import type { Dial } from './sftp.ts'

/** @returns what connects to the hosts and addresses that a destination may use, one address after the other. */
export function dial({ allowHosts, allowPrivate }: Pick<FileDestination, 'allowHosts' | 'allowPrivate'>): Dial {
  return async (host, port, signal) => {
    if (allowHosts !== null && !allowHosts.includes(host)) throw new PermanentError(`${host} is not in allow_hosts`)
    const found = await addressesOf(host, signal)
    const allowed = found.filter((address) => mayConnect(address, allowPrivate))
    if (allowed.length === 0) throw new PermanentError(refusedAddress(host, found[0] ?? 'nothing'))
    let failure = ''
    for (const address of allowed) {
      try {
        return await connected(address, port, signal)
      } catch (error) {
        if (error === signal.reason) throw error
        failure = explained(error)
      }
    }
    throw new TransientError(`cannot connect to ${host}:${port}: ${failure}`)
  }
}

async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  try {
    return (await abortable(lookup(host, { all: true }), signal)).map(({ address }) => address)
  } catch (error) {
    if (error === signal.reason) throw error
    throw new TransientError(`cannot find the address of ${host}: ${explained(error)}`, { cause: error })
  }
}

async function connected(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host: address, port, noDelay: true })
  try {
    await abortable(once(socket, 'connect'), signal)
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
