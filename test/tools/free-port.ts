import { once } from 'node:events'
import { createServer } from 'node:net'

const [FIRST, LAST] = [20_000, 32_000]
const TRIES = 100

/** @returns a free loopback port, for programs that need a number. @throws Error if there is none. */
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
