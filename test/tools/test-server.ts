import type { Server } from 'node:net'
import { onTestFinished } from 'vitest'
import { closed, listening } from './servers.ts'

/** Starts a server on loopback until the test ends. @returns its port. */
export async function listeningHere(server: Server): Promise<number> {
  const port = await listening(server)
  onTestFinished(() => closed(server))
  return port
}
