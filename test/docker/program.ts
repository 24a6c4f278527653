import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'svix'
import { freePort } from '../tools/free-port.ts'

export interface Start {
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

export interface Program {
  readonly child: ChildProcess
  readonly receiverUrl: string
  readonly opsUrl: string
  readonly opsPort: number
}

const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const READY_WITHIN_MS = 30_000
const STOPPED_WITHIN_MS = 20_000

const TOKEN = 'packaging:packaging-0123456789-abcdef'

/** A valid account without a service; `serve` starts anyway. */
const ACCOUNT = {
  BROKER_API_BASE_URL: 'https://127.0.0.1:9/api/v1',
  BROKER_API_CLIENT_ID: 'bac_packaging_check',
  BROKER_API_CLIENT_SECRET: 'bas_packaging_check',
  WEBHOOK_SECRETS: WEBHOOK_SECRET,
  OPS_TOKENS: TOKEN,
}

/** Starts `serve` on free loopback ports and waits until /healthz and /readyz answer 200. @throws Error with its output otherwise. */
export async function startProgram({ command, cwd, env, user }: Start): Promise<Program> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const loopback = { HOST: '127.0.0.1', PORT: String(port), OPS_HOST: '127.0.0.1', OPS_PORT: String(opsPort) }
  const [file = '', ...args] = command
  const child = spawn(file, args, {
    cwd,
    env: { ...env, ...ACCOUNT, ...loopback },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(user === undefined ? {} : user),
  })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk.toString()))
  const program = { child, receiverUrl: `http://127.0.0.1:${port}`, opsUrl: `http://127.0.0.1:${opsPort}`, opsPort }
  const until = Date.now() + READY_WITHIN_MS
  while (Date.now() < until && child.exitCode === null) {
    if ((await answers(`${program.opsUrl}/healthz`)) && (await answers(`${program.opsUrl}/readyz`))) return program
    await sleep(100)
  }
  child.kill('SIGKILL')
  throw new Error(`serve is not ready${child.exitCode === null ? '' : `, it ended with ${child.exitCode}`}:\n${output.join('')}`)
}

async function answers(url: string): Promise<boolean> {
  return await fetch(url).then(
    (response) => response.ok,
    () => false,
  )
}

/** Sends one signed delivery. @throws Error unless the answer is 204. */
export async function deliver(program: Program, id: string): Promise<void> {
  const body = JSON.stringify({ type: 'packaging.check', submission_id: '11111111-1111-4111-8111-111111111111' })
  const now = new Date()
  const headers = {
    'content-type': 'application/json',
    'svix-id': id,
    'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
    'svix-signature': new Webhook(WEBHOOK_SECRET).sign(id, now, body),
  }
  const response = await fetch(`${program.receiverUrl}/webhooks`, { method: 'POST', headers, body })
  if (response.status !== 204) throw new Error(`a signed delivery was answered ${response.status}, not 204`)
}

/** Opens the console and every file its page names. @throws Error if one is missing. */
export async function openConsole({ opsUrl }: Program): Promise<void> {
  const page = await fetch(`${opsUrl}/`)
  const text = await page.text()
  const files = [...text.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, file = '']) => file)
  if (!page.ok || !files.some((file) => file.endsWith('.js'))) throw new Error(`the console was answered ${page.status}: ${text}`)
  for (const file of files) {
    const answer = await fetch(`${opsUrl}${file}`)
    if (!answer.ok) throw new Error(`${file} of the console was answered ${answer.status}`)
  }
}

/** Sends SIGTERM. @throws Error unless the program exits with 0. */
export async function stopProgram({ child }: Program): Promise<void> {
  const ended = once(child, 'exit', { signal: AbortSignal.timeout(STOPPED_WITHIN_MS) })
  child.kill('SIGTERM')
  const [code, signal] = (await ended) as [number | null, string | null]
  if (code !== 0) throw new Error(`SIGTERM ended serve with ${code ?? signal}, not with 0`)
}
