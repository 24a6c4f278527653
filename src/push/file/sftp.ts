import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type SftpClient from 'ssh2-sftp-client'
import { abortable, limitedTo } from '../../base/abortable.ts'
import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { FileDestination } from '../../config/config.ts'
import { type Drop, type DropTarget, UnwritableError } from './drop.ts'

export type SftpSettings = Extract<FileDestination['target'], { type: 'sftp' }>

/**
 * Opens the TCP connection for SSH.
 * @throws TransientError if the connection fails.
 * @throws PermanentError if the address is forbidden.
 */
export type Dial = (host: string, port: number, signal: AbortSignal) => Promise<Socket>

/**
 * The library's SFTP session. Durable writes use the session directly, because the library has no function for them.
 */
type Session = Awaited<ReturnType<SftpClient['connect']>>

/** Bytes per write request. Every server accepts this size. */
const WRITE_BYTES = 32_768
/** Maximum bytes that are read from a file. A manifest of 10,000 files has a third of this size. */
const READ_BYTES = 16 * 1024 * 1024
/** Write requests in flight per file. Several requests at a time hide the delay of each round trip. */
const CONCURRENT_WRITES = 16
/**
 * Login methods, in the order of attempts. Methods without credentials are skipped. A server may require key and
 * password, in either order. The key is therefore tried before and after the password.
 */
const LOGINS = ['none', 'publickey', 'password', 'publickey', 'keyboard-interactive'] as const
/** Longest wait for the server to close the session, in ms. */
const CLOSE_MS = 1_000

/** Files written at the same time, to hide the delay of each round trip. */
const FILES_AT_ONCE = 8

/** A folder on an SFTP server. Each batch opens a new connection, because servers close idle connections. */
export function sftpTarget(settings: SftpSettings, dial: Dial): DropTarget {
  const place = `${settings.path} on sftp://${settings.username}@${settings.host}:${settings.port}`
  return { place, open: (signal) => openSftp(settings, place, dial, signal) }
}

async function openSftp(settings: SftpSettings, place: string, dial: Dial, signal: AbortSignal): Promise<Drop> {
  const socket = await dial(settings.host, settings.port, signal)
  const over = AbortSignal.any([signal, goneSignal(socket)])
  const cut = () => socket.destroy()
  signal.addEventListener('abort', cut, { once: true })
  const end = () => {
    signal.removeEventListener('abort', cut)
    socket.destroy()
  }
  const { client, session } = await connect(settings, socket, over).catch((error: unknown) => {
    end()
    throw error
  })
  const path = (name: string) => `${settings.path.replace(/\/+$/, '')}/${name}`
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await abortable(work(), over)
    } catch (error) {
      throw error === signal.reason ? error : explained(place, error)
    }
  }
  return {
    atOnce: FILES_AT_ONCE,
    write: (name, chunks) => attempt(() => writeDurably(session, path(name), chunks)),
    rename: (from, to) => attempt(() => renameOver(client, path(from), path(to))),
    // SFTP can't make names durable.
    sync: () => Promise.resolve(),
    read: (name) => attempt(() => text(session.createReadStream(path(name), { end: READ_BYTES }))),
    remove: (name) => attempt(() => client.delete(path(name), true)).then(() => {}),
    list: (wanted) => attempt(() => listFolder(client, settings.path, wanted)),
    async close() {
      await abortable(client.end(), limitedTo(CLOSE_MS, over)).catch(() => {})
      end()
    },
  }
}

/**
 * @returns a signal that aborts when the connection closes. Without this signal, some calls of the
 * library would never end.
 */
function goneSignal(socket: Socket): AbortSignal {
  const gone = new AbortController()
  socket.once('close', () => gone.abort(new Error('the server closed the connection')))
  return gone.signal
}

async function connect(settings: SftpSettings, socket: Socket, over: AbortSignal): Promise<{ client: SftpClient; session: Session }> {
  // Loaded on first use, to keep startup without SFTP fast.
  const { default: Client } = await import('ssh2-sftp-client')
  const client = new Client('sftp', { error() {}, end() {}, close() {} })
  let refusal: string | null = null
  client.on('error', (error: unknown) => {
    if (error instanceof Error && 'level' in error && error.level === 'client-authentication') refusal ??= refusedLogin(settings)
  })
  // Many servers ask for the password in an interactive prompt.
  client.on('keyboard-interactive', (_name, _instructions, _language, prompts: unknown[], answer: (answers: string[]) => void) =>
    answer(prompts.map(() => settings.password?.reveal() ?? '')),
  )
  try {
    const session = await abortable(
      client.connect({
        sock: socket,
        username: settings.username,
        ...(settings.password ? { password: settings.password.reveal(), tryKeyboard: true } : {}),
        ...(settings.privateKey ? { privateKey: settings.privateKey.reveal() } : {}),
        authHandler: [...LOGINS],
        // Off, because the signal `over` limits the time.
        readyTimeout: 0,
        hostVerifier: (key: Buffer) => {
          refusal = wrongKey(settings, key)
          return refusal === null
        },
      }),
      over,
    )
    return { client, session }
  } catch (error) {
    if (refusal !== null) throw new PermanentError(refusal, { cause: error })
    if (/privateKey/.test(messageOf(error))) throw new PermanentError(`the private key cannot be used: ${messageOf(error)}`)
    throw new TransientError(`cannot open SFTP at ${settings.host}:${settings.port}: ${messageOf(error)}`, { cause: error })
  }
}

/** @returns an error text if the server's key isn't `host_key`; otherwise null. */
function wrongKey({ host, port, hostKey }: SftpSettings, key: Buffer): string | null {
  const shown = `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
  if (shown === hostKey.replace(/=+$/, '')) return null
  // The key's bytes begin with the length of the key type's name, followed by the name.
  const kind = key.subarray(4, 4 + key.readUInt32BE(0)).toString('latin1')
  return `${host}:${port} has the ${kind} key ${shown}, but host_key is ${hostKey}, so nothing was sent; verify the identity of the server before you change host_key`
}

function refusedLogin({ host, port, username, password, privateKey }: SftpSettings): string {
  const means = [password ? 'password' : '', privateKey ? 'private key' : ''].filter((mean) => mean !== '').join(' and ')
  return `${host}:${port} rejects the login of user ${username}; check username and ${means}`
}

async function writeDurably(session: Session, path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
  const handle = await called<Buffer>((done) => session.open(path, 'wx', done))
  let position = 0
  try {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += WRITE_BYTES * CONCURRENT_WRITES) {
        const part = chunk.subarray(at, at + WRITE_BYTES * CONCURRENT_WRITES)
        await writePart(session, handle, part, position + at)
      }
      position += chunk.length
    }
    await syncIfOffered(session, handle)
  } finally {
    await called<void>((done) => session.close(handle, done))
  }
}

async function writePart(session: Session, handle: Buffer, part: Buffer, position: number): Promise<void> {
  const writes: Promise<void>[] = []
  for (let at = 0; at < part.length; at += WRITE_BYTES) {
    const length = Math.min(WRITE_BYTES, part.length - at)
    writes.push(called<void>((done) => session.write(handle, part, at, length, position + at, (error) => done(error ?? undefined))))
  }
  const failed = (await Promise.allSettled(writes)).find((result) => result.status === 'rejected')
  if (failed) throw failed.reason
}

async function syncIfOffered(session: Session, handle: Buffer): Promise<void> {
  try {
    await called<void>((done) => session.ext_openssh_fsync(handle, (error) => done(error)))
  } catch (error) {
    if (!isNotOffered(error)) throw error
  }
}

/**
 * Renames a file. If a file with the new name exists, replaces that file. SFTP's own rename fails in this case, so
 * OpenSSH's extension is tried first.
 */
async function renameOver(client: SftpClient, from: string, to: string): Promise<void> {
  try {
    await client.posixRename(from, to)
  } catch (error) {
    if (!isNotOffered(error)) throw error
    await renameOrKeep(client, from, to)
  }
}

/**
 * Renames a file without OpenSSH's extension. If a file with the new name and the same size exists, keeps that file and
 * deletes `from`. Both files have the same content, because names contain a hash.
 */
async function renameOrKeep(client: SftpClient, from: string, to: string): Promise<void> {
  try {
    await client.rename(from, to)
  } catch (error) {
    const sizes = await Promise.all([from, to].map((path) => client.stat(path).then((file) => file.size))).catch(() => null)
    if (sizes === null || sizes[0] !== sizes[1]) throw error
    await client.delete(from)
  }
}

async function listFolder(client: SftpClient, path: string, wanted: (name: string) => boolean) {
  const files = await client.list(path, (file) => wanted(file.name))
  return files.map((file) => ({ name: file.name, modifiedMs: file.modifyTime }))
}

/** Error texts by SFTP status code or the library's error code. */
const SENTENCES: Readonly<Record<string, string>> = {
  2: 'the folder does not exist: create it there, or correct path',
  ENOENT: 'the folder does not exist: create it there, or correct path',
  3: 'no permission to write there: let the user create, rename and remove files',
  EACCES: 'no permission to write there: let the user create, rename and remove files',
  4: 'the server reports a failure without a reason: check whether its disk or quota is full',
  14: 'the disk of the server is full: free space there',
  15: 'the disk quota on the server is used up: raise it',
}

function explained(place: string, error: unknown): TransientError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const sentence = SENTENCES[code]
  if (sentence !== undefined) return new UnwritableError(`cannot write ${place}: ${sentence}`, { cause: error })
  return new TransientError(`cannot write ${place}: ${messageOf(error)}`, { cause: error })
}

function isNotOffered(error: unknown): boolean {
  const unsupported = error instanceof Error && 'code' in error && error.code === 8
  return unsupported || /does not support this extended request/.test(messageOf(error))
}

function called<T>(call: (done: (error?: Error | null, value?: T) => void) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => (error ? reject(error) : resolve(value as T)))
  })
}
