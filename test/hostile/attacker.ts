// Attacks a receiver from its own process. Arguments: kind of attack, port, source addresses separated by commas, connections for each
// address. It prints `attacking` once all connections were opened, and runs until its input ends.
import { connect, type Socket } from 'node:net'

const [kind = '', port = '', from = '', count = '0'] = process.argv.slice(2)
const addresses = from.split(',')
const PLAUSIBLE = [
  'POST /webhooks HTTP/1.1',
  'host: mirror',
  'svix-id: msg_hostile',
  `svix-timestamp: ${Math.floor(Date.now() / 1000)}`,
  `svix-signature: v1,${Buffer.alloc(32).toString('base64')}`,
].join('\r\n')
const REQUEST = `${PLAUSIBLE}\r\ncontent-length: 0\r\n\r\n`
const PIPELINED = REQUEST.repeat(5_000)
const TINY_CHUNKS = '1\r\nx\r\n'.repeat(20_000)
/** Between two bytes of a slow sender. */
const BYTE_MS = 100
/** Delay before a closed connection is opened again. */
const AGAIN_MS = 500

const attacks: Readonly<Record<string, (socket: Socket) => void>> = {
  slow_headers: (socket) => drip(socket, 'POST /webhooks HTTP/1.1\r\nx-slow: ', 'x'),
  slow_bodies: (socket) => drip(socket, `${PLAUSIBLE}\r\ntransfer-encoding: chunked\r\n\r\n`, '1\r\nx\r\n'),
  tiny_chunks: (socket) => socket.write(`${PLAUSIBLE}\r\ntransfer-encoding: chunked\r\n\r\n${TINY_CHUNKS}`),
  unwanted_chunks: (socket) => socket.write(`POST /webhooks HTTP/1.1\r\nhost: mirror\r\ntransfer-encoding: chunked\r\n\r\n${TINY_CHUNKS}`),
  large_bodies: (socket) => drip(socket, `${PLAUSIBLE}\r\ncontent-length: 4194304\r\n\r\n${'x'.repeat(4_000_000)}`, 'x'),
  pipelining: (socket) => socket.pause().write(PIPELINED),
  few_at_a_time: (socket) => socket.on('data', () => socket.write(REQUEST)).write(REQUEST.repeat(8)),
  idle: (socket) => socket.write(REQUEST),
  silent: () => {},
  resets: (socket) => socket.resetAndDestroy(),
}

function drip(socket: Socket, first: string, next: string): void {
  socket.write(first)
  const timer = setInterval(() => socket.write(next), BYTE_MS)
  socket.once('close', () => clearInterval(timer))
}

const attack = attacks[kind]
if (attack === undefined) throw new Error(`no such attack: ${kind}`)
let opened = 0
const all = addresses.length * Number(count)

function hold(localAddress: string): void {
  const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress })
  let isCounted = false
  const once = () => {
    if (isCounted) return
    isCounted = true
    opened += 1
    if (opened === all) console.log('attacking')
  }
  socket.on('connect', () => {
    once()
    attack?.(socket)
  })
  socket.on('error', () => {})
  socket.on('data', () => {})
  socket.on('close', () => {
    once()
    setTimeout(() => hold(localAddress), kind === 'resets' ? AGAIN_MS / 20 : AGAIN_MS)
  })
}

for (let n = 0; n < Number(count); n++) for (const address of addresses) hold(address)
process.stdin.resume().on('end', () => process.exit(0))
