// Runs `serve` behind a real PgBouncer in transaction mode, under deliveries, while it is paused, killed and loses connections, and prints
// the results. Needs PgBouncer (Debian: `apt-get install pgbouncer`): node test/tools/pgbouncer.ts Exits with 1 if something was lost,
// differs, or leaked into shared sessions.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { openDb } from '../../src/store/open/open.ts'
import { inboxRows, logFaults, untilAgreed, waitFor } from '../e2e/agreement.ts'
import { accountEnv, startServe } from '../e2e/serve.ts'
import { type Answered, postSigned } from '../e2e/signed.ts'
import { freePort } from './free-port.ts'
import { startPostgres } from './postgres-server.ts'

const SENDERS = 8
const EACH = 200
const PAUSED = 4
const PATIENCE_MS = 60_000
const OTHERS = 20

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-pgbouncer-'))
const server = await startPostgres()
const port = await freePort()
const direct = new URL(server.url)
const pooled = new URL(server.url)
pooled.port = String(port)
let bouncer: ChildProcess | undefined
const faults: string[] = []

try {
  const version = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  if (version.status !== 0) throw new Error('pgbouncer is not installed (Debian: apt-get install pgbouncer)')
  console.log(version.stdout.split('\n')[0])
  configure()
  await start()
  for (const isNamed of [true, false]) await tryIt(isNamed)
} finally {
  bouncer?.kill('SIGKILL')
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
}
console.log(faults.length === 0 ? 'nothing lost, nothing different, nothing leaked' : faults.join('\n'))
process.exit(faults.length === 0 ? 0 : 1)

function configure(): void {
  const user = decodeURIComponent(direct.username)
  writeFileSync(join(folder, 'users.txt'), `"${user}" "${decodeURIComponent(direct.password)}"\n`)
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: join(folder, 'users.txt'),
    admin_users: user,
    pool_mode: 'transaction',
    // Fewer than the product's connections, so that sessions are shared.
    default_pool_size: 6,
    max_client_conn: 200,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    ['[databases]', `* = host=127.0.0.1 port=${direct.port}`, '[pgbouncer]', ...lines, ''].join('\n'),
  )
  chmodSync(folder, 0o755)
}

async function start(): Promise<void> {
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  bouncer = spawn('pgbouncer', [...user, '-q', join(folder, 'pgbouncer.ini')], { stdio: ['ignore', 'inherit', 'inherit'] })
  const isUp = () =>
    admin('show version').then(
      () => true,
      () => false,
    )
  if (!(await waitFor(isUp, PATIENCE_MS))) throw new Error('pgbouncer did not start')
}

async function admin(command: string): Promise<void> {
  const url = new URL(pooled)
  url.pathname = '/pgbouncer'
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await client.query(command)
  await client.end()
}

async function tryIt(isNamed: boolean): Promise<void> {
  const schema = isNamed ? 'named' : 'unnamed'
  const sandbox = await startSandbox({ submissions: 3, autoStart: false })
  const listen: Record<string, string> = isNamed ? { DATABASE_LISTEN_URL: direct.href } : {}
  const env = { DATABASE_URL: pooled.href, DATABASE_SCHEMA: schema, ...listen, ...accountEnv(sandbox), LOG_LEVEL: 'warn' }
  const running = await startServe({ ...env, LOG_LEVEL: 'info' })
  sandbox.account('default').target = `${running.receiver}/webhooks`
  const answers: Answered[] = []
  const send = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const body = '{"type":"submission.events"}'
      answers.push(await postSigned(`${running.receiver}/webhooks`, sandbox.account('default').webhookSecret, body))
    }
  }
  const senders = (count: number) => Promise.all(Array.from({ length: SENDERS }, () => send(count)))
  const refused = () => answers.filter(({ status }) => status === 503).length
  for (const id of sandbox.submissionIds('default')) sandbox.addMessage('default', id, { body_text: 'through the pooler' })
  const counts: Record<string, number> = {}
  const phase = async (name: string, act: () => Promise<unknown>, count = EACH) => {
    const before = { all: answers.length, refused: refused() }
    await Promise.all([act(), senders(count)])
    counts[`${name}: acknowledged`] = answers.length - before.all - (refused() - before.refused)
    counts[`${name}: 503`] = refused() - before.refused
  }
  await phase('calm', async () => undefined)
  await phase('server connections closed', () => admin('reconnect'))
  await admin('pause')
  await phase('paused', async () => undefined, PAUSED)
  await admin('resume')
  await phase('killed and started', async () => {
    const ended = once(bouncer as ChildProcess, 'exit')
    bouncer?.kill('SIGKILL')
    await ended
    await start()
  })
  if (
    !(await waitFor(
      async () => (await postSigned(`${running.receiver}/webhooks`, sandbox.account('default').webhookSecret, '{}')).status === 204,
      PATIENCE_MS,
    ))
  )
    faults.push(`${schema}: it does not store again`)
  await phase('calm again', async () => undefined)
  console.log(schema, JSON.stringify(counts))
  await check(schema, answers, sandbox)
  if ((await running.stop()) !== 0) faults.push(`${schema}: it did not stop with 0`)
  await sandbox.close()
}

async function check(schema: string, answers: readonly Answered[], sandbox: Awaited<ReturnType<typeof startSandbox>>): Promise<void> {
  const secret = { reveal: () => direct.href }
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const db = await openDb({ kind: 'postgres', url: secret, listenUrl: secret, schema }, { clock: systemClock, log })
  const odd = answers.filter(({ status }) => status !== 204 && status !== 503)
  faults.push(...odd.map(({ status }) => `${schema}: a delivery was answered ${status}`))
  const kept = new Map((await inboxRows(db)).map((row) => [row['delivery_id'], row]))
  const lost = answers.filter(({ id, status }) => status === 204 && !kept.has(id))
  faults.push(...lost.map(({ id }) => `${schema}: ${id} was acknowledged and is not stored`))
  await sandbox.deliveries.idle()
  faults.push(...(await untilAgreed(db, sandbox)), ...(await logFaults(db)))
  await db.close()
  const other = new pg.Client({ connectionString: pooled.href })
  await other.connect()
  const leaked = new Set<string>()
  for (let n = 0; n < OTHERS; n++) {
    const { rows } = await other.query(`select current_setting('search_path') || ' ' || current_setting('statement_timeout') as set`)
    if (rows[0].set !== '"$user", public 0') leaked.add(String(rows[0].set))
  }
  await other.end()
  faults.push(...[...leaked].map((set) => `${schema}: a session that others share was left at ${set}`))
}
