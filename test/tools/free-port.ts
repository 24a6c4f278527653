import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below what the systems give to whoever asks for any port, so that nobody gets it before it is listened on. */
const [FIRST, LAST] = [20_000, 32_000]
const TRIES = 100

/** @returns a port of the loopback that is free now, for a program that must be told which to take. @throws Error when none is found. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if (await isFree(port)) return port
  }
  throw new Error(`no port from ${FIRST} to ${LAST} is free`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
