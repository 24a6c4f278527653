// Sends signed deliveries over raw sockets. Reads a job (`Job`) as a line of JSON, and prints one line of JSON.
import { createHmac, randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

export interface Job {
  readonly port: number
  readonly secret: string
  readonly connections: number
  readonly seconds: number
  /** Requests per second, sent on time; null: each connection sends after its answer. */
  readonly rate: number | null
  readonly requests: number
  readonly submissions?: number
  readonly first?: number
}

export interface LoadResult {
  readonly answered: number
  readonly refused: number
  readonly seconds: number
  /** Milliseconds from the due time of a request (without a rate: its sending) to its answer. */
  readonly latencies: readonly number[]
  /** Due time of the first request, in ms since the epoch. */
  readonly startedAtMs: number
}

const BODY_BYTES = 2048
const END_OF_HEAD = Buffer.from('\r\n\r\n')
const ACCEPTED = Buffer.from('HTTP/1.1 204')

/** Signed in advance, to leave both cores to the server. */
function sign(job: Job): Buffer[] {
  const key = Buffer.from(job.secret.slice('whsec_'.length), 'base64')
  const filler = padded('{"type":"submission.message","submission_id":"6f1f5c0e-0000-4000-8000-000000000001","message":{"body_text":"')
  const timestamp = Math.floor(Date.now() / 1000)
  return Array.from({ length: job.requests }, (_, n) => {
    // Sortable by time, like known ids.
    const id = `msg_${(timestamp * 1_000_000 + n).toString(36)}${randomBytes(12).toString('hex')}`
    const body = job.submissions === undefined ? filler : padded(messageStart((job.first ?? 0) + n, job.submissions))
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
    const head = [
      `POST /webhooks${job.submissions === undefined ? '/acme' : ''} HTTP/1.1`,
      'host: 127.0.0.1',
      'content-type: application/json',
      `content-length: ${BODY_BYTES}`,
      'user-agent: bench',
      `svix-id: ${id}`,
      `svix-timestamp: ${timestamp}`,
      `svix-signature: v1,${signature}`,
    ]
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}

/** Hexadecimal words, hard to compress for a database. */
const WORDS = Array.from({ length: 400 }, () => randomBytes(2 + ((randomBytes(1)[0] ?? 0) % 4)).toString('hex')).join(' ')

function padded(start: string): string {
  return `${start}${WORDS.slice(0, BODY_BYTES - start.length - 3)}"}}`
}

function messageStart(n: number, submissions: number): string {
  const id = (family: string, number: number) => `${family}-0000-4000-8000-${number.toString().padStart(12, '0')}`
  const message = `"id":"${id('bbbbbbbb', n)}","channel":"email","direction":"outbound","kind":"market_plan_update","occurred_at":"${new Date().toISOString()}"`
  const rest = '"subject":"Update","from":"desk@service.example","to":["producer@brokerage.example"],"attachments":[],"in_reply_to":null'
  return `{"type":"submission.message","submission_id":"${id('aaaaaaaa', n % submissions)}","message":{${message},${rest},"body_text":"`
}

async function run(job: Job): Promise<LoadResult> {
  const requests = sign(job)
  const sockets = await Promise.all(Array.from({ length: job.connections }, () => open(job.port)))
  const latencies: number[] = []
  const dueBySocket = new Map<Socket, number>()
  const free: Socket[] = []
  const due: number[] = []
  let sent = 0
  let refused = 0
  const startedAt = performance.now()
  const endsAt = startedAt + job.seconds * 1000

  const send = (socket: Socket, dueAt: number) => {
    const request = requests[sent++]
    if (request === undefined) throw new Error('too few requests were signed')
    dueBySocket.set(socket, dueAt)
    socket.write(request)
  }
  const next = (socket: Socket) => {
    if (job.rate === null) {
      if (performance.now() < endsAt) send(socket, performance.now())
      return
    }
    const dueAt = due.shift()
    if (dueAt === undefined) free.push(socket)
    else send(socket, dueAt)
  }
  const hear = (socket: Socket, answer: Buffer) => {
    const now = performance.now()
    if (answer.subarray(0, ACCEPTED.length).equals(ACCEPTED) && answer.subarray(-4).equals(END_OF_HEAD)) {
      if (now < endsAt) latencies.push(now - (dueBySocket.get(socket) ?? now))
    } else refused++
    next(socket)
  }
  for (const socket of sockets) {
    socket.on('data', (answer) => hear(socket, answer))
    next(socket)
  }
  await new Promise<void>((resolve) => {
    let planned = 0
    const timer = setInterval(() => {
      const now = performance.now()
      if (now >= endsAt) {
        clearInterval(timer)
        resolve()
        return
      }
      if (job.rate === null) return
      for (const upTo = ((now - startedAt) / 1000) * job.rate; planned < upTo; planned++) {
        const dueAt = startedAt + (planned / job.rate) * 1000
        const socket = free.pop()
        if (socket) send(socket, dueAt)
        else due.push(dueAt)
      }
    }, 1)
  })
  for (const socket of sockets) socket.destroy()
  const startedAtMs = performance.timeOrigin + startedAt
  return { answered: latencies.length, refused, seconds: job.seconds, latencies: job.rate === null ? [] : latencies, startedAtMs }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    socket.once('error', reject)
  })
}

console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  console.log(`result ${JSON.stringify(await run(JSON.parse(line) as Job))}`)
}
