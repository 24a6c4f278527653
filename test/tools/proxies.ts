// Runs the proxy blocks of docker/reverse-proxy.md in real programs, in front of a real `serve`, and prints the results and the headers that each
// adds. Needs the programs (Debian: `apt-get install nginx apache2 haproxy caddy`): node test/tools/proxies.ts [nginx|apache|haproxy|caddy]
// Exits with 1 if something doesn't pass as documented.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Webhook } from 'svix'
import { startServe } from '../e2e/serve.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const SECRET = `whsec_${Buffer.from('a secret of the tests alone').toString('base64')}`
const TOKEN = 'a-token-of-the-tests-alone'
const SENDER = '127.0.0.9'
/** VERBOSE=1 prints the proxies' output. */
const VERBOSE = process.env['VERBOSE'] === '1'
const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-proxies-'))
const pem = join(folder, 'example.com.pem')
const faults: string[] = []

interface Ports {
  readonly https: number
  readonly receiver: number
  readonly ops: number
}

interface Proxy {
  readonly language: string
  readonly version: readonly string[]
  /** Writes its settings around the block. @returns its command, in the foreground. */
  start(block: string, ports: Ports): readonly string[]
}

const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    language: 'nginx',
    version: ['nginx', '-v'],
    start(block) {
      const around = `daemon off; user root; pid ${folder}/nginx.pid; error_log stderr;\nevents {}\nhttp { access_log off; client_body_temp_path ${folder}/body;\n`
      return ['nginx', '-p', folder, '-c', written('nginx.conf', `${around}${block}\n}\n`)]
    },
  },
  apache: {
    language: 'apache',
    version: ['apache2', '-v'],
    start(block, { https }) {
      const modules = ['mpm_event', 'authz_core', 'ssl', 'socache_shmcb', 'headers', 'proxy', 'proxy_http']
      const load = modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
      const own = [`PidFile ${folder}/apache.pid`, `Listen ${https}`, 'ServerName localhost', `ErrorLog ${folder}/apache.log`]
      return ['apache2', '-X', '-f', written('apache.conf', [...own, ...load, block, ''].join('\n'))]
    },
  },
  haproxy: {
    language: 'haproxy',
    version: ['haproxy', '-v'],
    start: (block) => ['haproxy', '-db', '-f', written('haproxy.cfg', `${block}\n`)],
  },
  caddy: {
    language: 'caddyfile',
    version: ['caddy', 'version'],
    start(block, { https }) {
      const sites = block.replace(/^(\w+\.example\.com) \{$/gm, `https://$1:${https} {\n\ttls ${pem} ${pem}`)
      return ['caddy', 'run', '--adapter', 'caddyfile', '--config', written('Caddyfile', `{\n\tadmin off\n\tauto_https off\n}\n${sites}\n`)]
    },
  },
}

function written(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

function blockOf({ language }: Proxy, { https, receiver, ops }: Ports): string {
  const document = readFileSync(join(import.meta.dirname, '../../docker/reverse-proxy.md'), 'utf8')
  const block = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(document)?.[1]
  if (block === undefined) throw new Error(`docker/reverse-proxy.md has no block for ${language}`)
  return block
    .replaceAll('/etc/ssl/private/example.com.pem', pem)
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${receiver}`)
    .replaceAll('127.0.0.1:8081', `127.0.0.1:${ops}`)
    .replace(/(listen |\*:|bind :)443/g, `$1${https}`)
}

async function running<T>(proxy: Proxy, ports: Ports, work: () => Promise<T>): Promise<T> {
  const [command = '', ...args] = proxy.start(blockOf(proxy, ports), ports)
  const child: ChildProcess = spawn(command, args, {
    stdio: ['ignore', 'ignore', VERBOSE ? 'inherit' : 'ignore'],
    env: { ...process.env, HOME: folder },
  })
  const ended = once(child, 'close')
  try {
    await until('the proxy listens', () => isOpen(ports.https))
    return await work()
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

interface Asked {
  readonly host: string
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

function ask(port: number, { host, path, method = 'GET', headers = {}, body }: Asked) {
  return new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
    const to = { host: '127.0.0.1', port, servername: host, localAddress: SENDER, rejectUnauthorized: false }
    request({ ...to, path, method, headers: { host, ...headers } }, resolve)
      .on('error', reject)
      .end(body)
  })
}

async function statusOf(port: number, asked: Asked): Promise<number> {
  const answer = await ask(port, asked)
  await text(answer)
  return answer.statusCode ?? 0
}

const hooks = 'hooks.example.com'
const mirror = 'console.example.com'

function delivery(bytes: number): Asked {
  const [id, now] = [`doctor_${randomUUID()}`, new Date()]
  const body = JSON.stringify({ type: 'submission_mirror.self_delivery', filler: '-'.repeat(bytes) })
  const signed = {
    'svix-id': id,
    'svix-timestamp': String(Math.floor(now.getTime() / 1000)),
    'svix-signature': new Webhook(SECRET).sign(id, now, body),
  }
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length), 'x-forwarded-for': '203.0.113.5', ...signed }
  return { host: hooks, path: '/webhooks', method: 'POST', headers, body }
}

async function headersOf(name: string, proxy: Proxy): Promise<void> {
  const seen: IncomingHttpHeaders[] = []
  const recorder = createServer((asked, answer) => {
    seen.push(asked.headers)
    asked.resume().on('end', () => answer.end('{}'))
  })
  await once(recorder.listen(0, '127.0.0.1'), 'listening')
  const { port } = recorder.address() as AddressInfo
  const ports = { https: await freePort(), receiver: port, ops: port }
  await running(proxy, ports, async () => {
    await statusOf(ports.https, { ...delivery(1), path: '/webhooks' })
    await statusOf(ports.https, { host: mirror, path: '/api/v1/accounts', headers: { 'x-forwarded-for': '203.0.113.5' } })
  })
  recorder.close().closeAllConnections()
  const kept = seen.map(({ 'svix-id': _, 'svix-timestamp': __, 'svix-signature': ___, 'content-length': ____, ...others }) => others)
  console.log(`${name}: headers at the receiver and at the ops port\n${kept.map((each) => `  ${JSON.stringify(each)}`).join('\n')}`)
}

async function tryIt(name: string, proxy: Proxy): Promise<void> {
  const database = join(folder, `${name}.db`)
  const https = await freePort()
  const serve = await startServe({
    DATABASE_URL: `sqlite:${database}`,
    BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
    BROKER_API_CLIENT_ID: 'bac_1',
    BROKER_API_CLIENT_SECRET: 'bas_1',
    WEBHOOK_SECRETS: SECRET,
    TRUST_PROXY: 'loopback',
    OPS_TOKENS: `tests:${TOKEN}`,
    OPS_PUBLIC_URL: `https://${mirror}`,
    DOCUMENTS_DIR: folder,
  })
  const ports = { https, receiver: Number(new URL(serve.receiver).port), ops: Number(new URL(serve.ops).port) }
  const check = (what: string, is: unknown, wanted: unknown) => {
    const isRight = JSON.stringify(is) === JSON.stringify(wanted)
    console.log(`  ${isRight ? '✓' : '✗'} ${what}: ${JSON.stringify(is)}`)
    if (!isRight) faults.push(`${name}: ${what} is ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`)
  }
  await running(proxy, ports, async () => {
    const short = await ask(https, delivery(1))
    check('a signed delivery', short.statusCode, 204)
    const { sender } = JSON.parse(String(short.headers['submission-mirror-arrival'] ?? '{}')) as { sender?: string }
    check('counts for', sender, SENDER)
    check('one of nearly 4 MiB', await statusOf(https, delivery((4 << 20) - 1024)), 204)
    const tried = (asked: Asked) => statusOf(https, asked)
    check('GET /webhooks is refused', (await tried({ host: hooks, path: '/webhooks' })) >= 400, true)
    check('other paths are not passed on', await tried({ host: hooks, path: '/metrics' }), 404)
    check('the console (503 while it is not built)', [200, 503].includes(await tried({ host: mirror, path: '/console/' })), true)
    const bearer = { authorization: `Bearer ${TOKEN}` }
    const origin = { origin: `https://${mirror}`, 'content-type': 'application/json' }
    const signIn = await ask(https, {
      host: mirror,
      path: '/api/v1/session',
      method: 'POST',
      headers: origin,
      body: JSON.stringify({ token: TOKEN }),
    })
    check('signing in', signIn.statusCode, 204)
    const cookie = String(signIn.headers['set-cookie']).split(';')[0] ?? ''
    check(
      'an action of the page',
      await tried({ host: mirror, path: '/api/v1/reload', method: 'POST', headers: { ...origin, cookie }, body: '{}' }),
      200,
    )
    const guesses: number[] = []
    for (let n = 1; n <= 11; n++) {
      const headers = { ...origin, 'x-forwarded-for': `203.0.113.${n}` }
      guesses.push(await tried({ host: mirror, path: '/api/v1/session', method: 'POST', headers, body: '{"token":"wrong"}' }))
    }
    check('wrong tokens with invented addresses are limited', guesses.at(-1), 429)
    check('an answer held for 30 s', await tried({ host: mirror, path: '/api/v1/changes?wait=30', headers: bearer }), 200)
  })
  await serve.stop()
}

try {
  mkdirSync(join(folder, 'body'))
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    pem,
    '-out',
    `${pem}.crt`,
    '-subj',
    '/CN=example.com',
  ])
  if (made.status !== 0) throw new Error(String(made.stderr))
  writeFileSync(pem, readFileSync(`${pem}.crt`, 'utf8') + readFileSync(pem, 'utf8'))
  const wanted = process.argv.slice(2)
  for (const [name, proxy] of Object.entries(proxies)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const [command = '', ...args] = proxy.version
    const version = spawnSync(command, args, { encoding: 'utf8' })
    if (version.error !== undefined) throw new Error(`${name} is not installed (Debian: apt-get install nginx apache2 haproxy caddy)`)
    console.log(`${version.stdout}${version.stderr}`.split('\n')[0])
    await headersOf(name, proxy)
    await tryIt(name, proxy)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(faults.length === 0 ? 'each proxy passes everything on as docker/reverse-proxy.md says' : faults.join('\n'))
process.exit(faults.length === 0 ? 0 : 1)
