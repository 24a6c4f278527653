import { createHash, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, link, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import ssh2, { type AuthContext, type Connection, type PublicKeyAuthContext, type SFTPWrapper } from 'ssh2'
import { listening } from '../tools/servers.ts'
import { sshKeys } from './ssh-keys.ts'

const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp

/** The fault of a request: a status code of the protocol, no answer, or a cut connection, before it is done or after (`lose`). */
export type Fault = number | 'hang' | 'cut' | 'lose'

export interface SftpServerOptions {
  readonly root: string
  readonly username: string
  /** Allowed login method; the server offers no other. */
  readonly password?: string
  /** Whether it asks for the password interactively. */
  readonly dialogue?: boolean
  /** The user's public key, as in `authorized_keys`. */
  readonly publicKey?: string
  /** Whether it requires the key, then the password. */
  readonly isTwofold?: boolean
  readonly openssh?: boolean
}

export interface SftpServer {
  readonly port: number
  readonly hostKey: string
  /** Every request, in order: `open /a`, `rename /a /b`, `fsync`. */
  readonly requests: string[]
  readonly logins: () => number
  readonly left: () => Promise<void>
  fault: (request: string) => Fault | null
  close(): Promise<void>
}

/** An SFTP server (protocol 3) over a real folder, by the server of `ssh2`. Its rename refuses an existing name, as the draft demands. */
export async function startSftpServer(options: SftpServerOptions): Promise<SftpServer> {
  const keys = sshKeys()
  const blob = Buffer.from(keys.public.split(' ')[1] ?? '', 'base64')
  const requests: string[] = []
  const connections = new Set<Connection>()
  let logins = 0
  const server = new ssh2.Server({ hostKeys: [keys.private] }, (connection) => {
    connections.add(connection)
    const { setNoDelay } = connection as unknown as { setNoDelay(on: boolean): void }
    setNoDelay.call(connection, true)
    connection.on('error', () => {})
    connection.on('close', () => connections.delete(connection))
    connection.on('authentication', options.isTwofold ? twofold(options) : (attempt) => authenticate(attempt, options))
    connection.on('ready', () => {
      logins++
      connection.on('session', (accept) => {
        accept().on('sftp', (acceptSftp) => {
          const sftp = acceptSftp()
          if (options.openssh !== false) offerExtensions(sftp)
          const heard = (request: string) => {
            requests.push(request)
            return emulator.fault(request)
          }
          serve(sftp, options.root, heard, () => connection.end())
        })
      })
    })
  })
  const port = await listening(server)
  const emulator: SftpServer = {
    port,
    hostKey: `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`,
    requests,
    logins: () => logins,
    async left() {
      for (const connection of connections) await once(connection, 'close')
    },
    fault: () => null,
    async close() {
      for (const connection of connections) connection.end()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return emulator
}

function authenticate(attempt: AuthContext, { username, password, publicKey, dialogue }: SftpServerOptions): void {
  const methods = [
    ...(publicKey === undefined ? [] : ['publickey' as const]),
    ...(password === undefined ? [] : [dialogue ? ('keyboard-interactive' as const) : ('password' as const)]),
  ]
  const decide = (good: boolean) => {
    if (good) attempt.accept()
    else attempt.reject(methods)
  }
  if (attempt.username !== username || attempt.method === 'none' || attempt.method === 'hostbased') decide(false)
  else if (!methods.includes(attempt.method)) decide(false)
  else if (attempt.method === 'password') decide(same(attempt.password, password))
  else if (attempt.method === 'publickey') decide(holdsKey(attempt, publicKey))
  else attempt.prompt([{ prompt: 'Password: ', echo: false }], 'Login', (answers) => decide(same(answers[0], password)))
}

function twofold({ publicKey, ...last }: SftpServerOptions): (attempt: AuthContext) => void {
  let isShown = false
  return (attempt) => {
    if (isShown) return authenticate(attempt, last)
    if (attempt.method !== 'publickey' || !holdsKey(attempt, publicKey)) return attempt.reject(['publickey'])
    if (attempt.signature === undefined) return attempt.accept()
    isShown = true
    attempt.reject(['password'], true)
  }
}

/** A request without a signature only asks whether the key would be accepted. */
function holdsKey({ key, signature, blob }: PublicKeyAuthContext, publicKey = ''): boolean {
  const allowed = Buffer.from(publicKey.split(' ')[1] ?? '', 'base64')
  if (!allowed.equals(key.data)) return false
  if (signature === undefined || blob === undefined) return true
  // The last 32 bytes of an ed25519 key's blob are the key.
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: allowed.subarray(-32).toString('base64url') }
  return verify(null, blob, createPublicKey({ key: jwk, format: 'jwk' }), signature)
}

function same(given = '', wanted = ''): boolean {
  return given.length === wanted.length && timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
}

/** The library's server handles extended requests but cannot announce them, so its first packet, the version, is replaced. */
function offerExtensions(sftp: SFTPWrapper): void {
  const { _protocol: protocol } = sftp as unknown as { _protocol: { channelData: (id: number, data: Buffer) => void } }
  const send = protocol.channelData
  const text = (value: string) => Buffer.concat([uint32(value.length), Buffer.from(value)])
  const extensions = ['posix-rename@openssh.com', 'fsync@openssh.com'].flatMap((name) => [text(name), text('1')])
  const version = Buffer.concat([Buffer.from([2]), uint32(3), ...extensions])
  protocol.channelData = (id) => {
    protocol.channelData = send
    send.call(protocol, id, Buffer.concat([uint32(version.length), version]))
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

type Listing = { names: string[] | null }

function serve(sftp: SFTPWrapper, root: string, heard: (request: string) => Fault | null, cut: () => void): void {
  const handles = new Map<string, { file?: FileHandle; listing?: Listing; path: string }>()
  let opened = 0
  let isOver = false
  /** The answer to a request is lost, and all that follow. */
  let isMute = false
  const real = (path: string) => join(root, normalize(`/${path}`))
  const keep = (entry: { file?: FileHandle; listing?: Listing; path: string }): Buffer => {
    const key = String(opened++)
    handles.set(key, entry)
    return Buffer.from(key)
  }
  const taken = (handle: Buffer) => handles.get(handle.toString())
  sftp.on('close', () => {
    isOver = true
    for (const { file } of handles.values()) void file?.close().catch(() => {})
    handles.clear()
  })
  const on = (id: number, request: string, work: () => Promise<unknown>) => {
    const fault = heard(request)
    if (fault === 'cut') return cut()
    if (fault === 'hang' || isMute) return
    if (typeof fault === 'number') return sftp.status(id, fault)
    if (fault === 'lose') {
      isMute = true
      const answers = {
        status: () => undefined,
        handle: () => undefined,
        attrs: () => undefined,
        name: () => undefined,
        data: () => undefined,
      }
      Object.assign(sftp, answers)
      return void work().then(cut, cut)
    }
    work().catch((error: unknown) => sftp.status(id, codeOf(error)))
  }
  const done = (id: number, work: () => Promise<unknown>) => async () => {
    await work()
    sftp.status(id, STATUS_CODE.OK)
  }
  sftp.on('OPEN', (id, path, flags) =>
    on(id, `open ${path}`, async () => {
      const mode = flags & OPEN_MODE.EXCL ? 'wx' : flags & OPEN_MODE.WRITE ? 'w' : 'r'
      const file = await open(real(path), mode)
      // Nothing else closes it.
      if (isOver) return await file.close()
      sftp.handle(id, keep({ file, path }))
    }),
  )
  sftp.on('WRITE', (id, handle, offset, data) =>
    on(
      id,
      `write ${taken(handle)?.path}`,
      done(id, async () => taken(handle)?.file?.write(data, 0, data.length, offset)),
    ),
  )
  sftp.on('READ', (id, handle, offset, length) =>
    on(id, `read ${taken(handle)?.path}`, async () => {
      const { bytesRead = 0, buffer } = (await taken(handle)?.file?.read(Buffer.alloc(length), 0, length, offset)) ?? {}
      if (bytesRead === 0 || buffer === undefined) return sftp.status(id, STATUS_CODE.EOF)
      sftp.data(id, buffer.subarray(0, bytesRead))
    }),
  )
  sftp.on('FSTAT', (id, handle) =>
    on(id, `fstat ${taken(handle)?.path}`, async () => sftp.attrs(id, attributes(await stat(real(taken(handle)?.path ?? ''))))),
  )
  sftp.on('CLOSE', (id, handle) => {
    const entry = taken(handle)
    handles.delete(handle.toString())
    // Closed with any answer to the client.
    const closing = entry?.file?.close() ?? Promise.resolve()
    closing.catch(() => {})
    on(
      id,
      `close ${entry?.path}`,
      done(id, () => closing),
    )
  })
  const sendStat = (id: number, path: string) => on(id, `stat ${path}`, async () => sftp.attrs(id, attributes(await stat(real(path)))))
  sftp.on('STAT', sendStat)
  sftp.on('LSTAT', sendStat)
  sftp.on('REALPATH', (id, path) => on(id, `realpath ${path}`, async () => sftp.name(id, [named(normalize(`/${path}`))])))
  sftp.on('OPENDIR', (id, path) =>
    on(id, `opendir ${path}`, async () => sftp.handle(id, keep({ listing: { names: await readdir(real(path)) }, path }))),
  )
  sftp.on('READDIR', (id, handle) => {
    const { listing, path = '' } = taken(handle) ?? {}
    on(id, `readdir ${path}`, async () => {
      const names = listing?.names ?? null
      if (listing) listing.names = null
      if (names === null || names.length === 0) return sftp.status(id, STATUS_CODE.EOF)
      sftp.name(id, await Promise.all(names.map(async (name) => named(name, attributes(await stat(join(real(path), name)))))))
    })
  })
  sftp.on('REMOVE', (id, path) =>
    on(
      id,
      `remove ${path}`,
      done(id, () => rm(real(path))),
    ),
  )
  sftp.on('RENAME', (id, from, to) =>
    on(
      id,
      `rename ${from} ${to}`,
      done(id, async () => {
        await link(real(from), real(to))
        await unlink(real(from))
      }),
    ),
  )
  sftp.on('EXTENDED', (id, name, data) => {
    const [first = '', second = ''] = strings(data)
    if (name === 'posix-rename@openssh.com') {
      on(
        id,
        `posix-rename ${first} ${second}`,
        done(id, () => rename(real(first), real(second))),
      )
    } else if (name === 'fsync@openssh.com') {
      const entry = handles.get(first)
      on(
        id,
        `fsync ${entry?.path}`,
        done(id, async () => entry?.file?.sync()),
      )
    } else sftp.status(id, STATUS_CODE.OP_UNSUPPORTED)
  })
}

function strings(data: Buffer): string[] {
  const found: string[] = []
  for (let at = 0; at + 4 <= data.length; ) {
    const length = data.readUInt32BE(at)
    found.push(data.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  return found
}

function attributes({ mode, uid, gid, size, atimeMs, mtimeMs }: Awaited<ReturnType<typeof stat>>) {
  return { mode, uid, gid, size, atime: Math.floor(Number(atimeMs) / 1000), mtime: Math.floor(Number(mtimeMs) / 1000) } as {
    mode: number
    uid: number
    gid: number
    size: number
    atime: number
    mtime: number
  }
}

function named(filename: string, attrs = { mode: 0o40755, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 }) {
  return { filename, longname: `-rw-r--r-- 1 user group ${attrs.size} Jan 1 00:00 ${filename}`, attrs }
}

function codeOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'ENOENT') return STATUS_CODE.NO_SUCH_FILE
  return code === 'EACCES' ? STATUS_CODE.PERMISSION_DENIED : STATUS_CODE.FAILURE
}
