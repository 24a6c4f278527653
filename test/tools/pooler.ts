import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { listening } from './servers.ts'

const HEAD = 5
const READY_FOR_QUERY = 'Z'
const BACKEND_KEY_DATA = 'K'
const TERMINATE = 'X'
const IDLE = 'I'
/** Messages that get an answer: Query and Sync. */
const ENDS_OF_ASKING = new Set(['Q', 'S'])

/** Complete messages of the protocol, and the rest. A message is a letter, its length (including itself), and the content. */
function messagesOf(bytes: Buffer): { messages: Buffer[]; left: Buffer } {
  const messages: Buffer[] = []
  let left = bytes
  while (left.length >= HEAD && left.length > left.readInt32BE(1)) {
    const size = 1 + left.readInt32BE(1)
    messages.push(left.subarray(0, size))
    left = left.subarray(size)
  }
  return { messages, left }
}

/** A server session, created at a login and then shared. */
interface Session {
  readonly socket: Socket
  client: Client | null
}

interface Client {
  readonly socket: Socket
  session: Session | null
  waiting: Buffer[]
}

/**
 * A pooler that gives each transaction to a free session, as pgbouncer does in transaction mode: session settings and prepared statements
 * may belong to others.
 */
export class Pooler {
  readonly #server: Server
  readonly #target: URL
  readonly #sockets = new Set<Socket>()
  readonly #free: Session[] = []
  readonly #clients = new Set<Client>()
  #isPaused = false

  private constructor(target: URL) {
    this.#target = target
    this.#server = createServer((socket) => this.#take(socket))
  }

  static async start(url: string): Promise<Pooler> {
    const pooler = new Pooler(new URL(url))
    await listening(pooler.#server)
    return pooler
  }

  get url(): string {
    const own = new URL(this.#target)
    own.port = String((this.#server.address() as AddressInfo).port)
    return own.href
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#assign()
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }

  #take(socket: Socket): void {
    const session: Session = { socket: connect(Number(this.#target.port), this.#target.hostname), client: null }
    const client: Client = { socket, session: null, waiting: [] }
    session.client = client
    for (const each of [socket, session.socket]) {
      this.#sockets.add(each)
      each.on('error', () => {})
      each.setNoDelay()
    }
    this.#clients.add(client)
    let isLoggedIn = false
    this.#answer(session, () => {
      isLoggedIn = true
    })
    let asked: Buffer = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      if (!isLoggedIn) {
        session.socket.write(bytes)
        return
      }
      const { messages, left } = messagesOf(Buffer.concat([asked, bytes]))
      asked = left
      client.waiting.push(...messages.filter((message) => letterOf(message) !== TERMINATE))
      this.#assign()
    })
    socket.on('close', () => this.#clients.delete(client))
  }

  /** Forwards a session's answers to its client, and releases it outside of transactions. */
  #answer(session: Session, loggedIn: () => void): void {
    let answered: Buffer = Buffer.alloc(0)
    session.socket.on('data', (bytes: Buffer) => {
      const { messages, left } = messagesOf(Buffer.concat([answered, bytes]))
      answered = left
      for (const message of messages) {
        // A pooler has its own process numbers.
        if (letterOf(message) === BACKEND_KEY_DATA) message.writeInt32BE(message.readInt32BE(HEAD) ^ 0x0100_0000, HEAD)
        session.client?.socket.write(message)
        if (letterOf(message) !== READY_FOR_QUERY) continue
        loggedIn()
        if (String.fromCharCode(message[HEAD] ?? 0) !== IDLE) continue
        if (session.client) session.client.session = null
        session.client = null
        this.#free.push(session)
      }
      this.#assign()
    })
  }

  #assign(): void {
    for (const client of this.#clients) {
      if (this.#isPaused || !client.waiting.some((message) => ENDS_OF_ASKING.has(letterOf(message)))) continue
      if (client.session === null) {
        const session = this.#free.shift()
        if (!session) continue
        session.client = client
        client.session = session
      }
      client.session.socket.write(Buffer.concat(client.waiting))
      client.waiting = []
    }
  }
}

function letterOf(message: Buffer): string {
  return String.fromCharCode(message[0] ?? 0)
}
