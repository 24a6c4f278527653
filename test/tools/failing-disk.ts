// Runs `serve` on SQLite with a full, read-only or failing disk, under deliveries, and prints the results. Needs Linux and a C compiler
// (`cc`): node test/tools/failing-disk.ts. Exits with 1 if something was lost or differs.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { openDb } from '../../src/store/open/open.ts'
import { inboxRows, logFaults, untilAgreed } from '../e2e/agreement.ts'
import { accountEnv, startServe } from '../e2e/serve.ts'
import { type Answered, postSigned } from '../e2e/signed.ts'

const COUNT = 200
const MODES = ['write', 'readonly', 'sync'] as const

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-failing-disk-'))
const [library, fault, path] = [join(folder, 'failing-disk.so'), join(folder, 'fault'), join(folder, 'mirror.db')]
const source = join(import.meta.dirname, 'failing-disk.c')
const made = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { encoding: 'utf8' })
if (made.status !== 0) throw new Error(`cc cannot make the library: ${made.error?.message ?? made.stderr}`)

const faults: string[] = []
writeFileSync(fault, '')
const sandbox = await startSandbox({ submissions: 3, autoStart: false })
const env = { DATABASE_URL: `sqlite:${path}`, ...accountEnv(sandbox), FAILING_DISK: fault }
const running = await startServe(env, `export LD_PRELOAD=${library}`)
sandbox.account('default').target = `${running.receiver}/webhooks`
for (const id of sandbox.submissionIds('default')) sandbox.addMessage('default', id, { body_text: 'on a failing disk' })
const answers: Answered[] = []
try {
  await expectAll('before', 204)
  for (const mode of MODES) {
    writeFileSync(fault, mode)
    await expectAll(mode, 503)
    const said = running.lines().findLast((line) => line.includes('answered 503'))
    console.log(mode, said === undefined ? '' : (JSON.parse(said) as { msg: string }).msg)
    if ((await fetch(`${running.ops}/readyz`)).status !== 503) faults.push(`${mode}: it calls itself ready`)
    writeFileSync(fault, '')
    await expectAll(`after ${mode}`, 204)
  }
  await check()
  if ((await running.stop()) !== 0) faults.push('it did not stop with 0')
} finally {
  await running.kill()
  await sandbox.close()
  rmSync(folder, { recursive: true, force: true })
}
console.log(faults.length === 0 ? 'nothing lost, nothing different' : faults.join('\n'))
process.exit(faults.length === 0 ? 0 : 1)

async function expectAll(when: string, status: number): Promise<void> {
  const own: Answered[] = []
  const { webhookSecret } = sandbox.account('default')
  for (let n = 0; n < COUNT; n++) own.push(await postSigned(`${running.receiver}/webhooks`, webhookSecret, '{"type":"submission.events"}'))
  answers.push(...own)
  const others = own.filter((answer) => answer.status !== status)
  console.log(`${when}: ${own.length - others.length} of ${COUNT} answered ${status}`)
  if (others.length > 0) faults.push(`${when}: ${others.length} were answered ${others[0]?.status}, not ${status}`)
}

async function check(): Promise<void> {
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log })
  const kept = new Set((await inboxRows(db)).map((row) => row['delivery_id']))
  faults.push(
    ...answers.filter(({ id, status }) => status === 204 && !kept.has(id)).map(({ id }) => `${id} was acknowledged and is not stored`),
  )
  await sandbox.deliveries.idle()
  faults.push(...(await untilAgreed(db, sandbox)), ...(await logFaults(db)))
  await db.close()
}
