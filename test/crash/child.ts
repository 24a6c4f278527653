// `serve`, put together as the program does it, in a process that ends where a test says. It is told, a line each:
//   start ENV        the settings, as JSON
//   arm POINT N HOW  at the Nth time from now that it comes to POINT it is killed; or (HOW is `throw`) the store fails that once, or
//                    (`refuse`) refuses what is written, that time and ever after, or (`full`) no file can be written from then on
//   room             files can be written again, and the commands that failed are repeated
//   retry, skip, map as the commands of that name do, with a connection of their own: `outbox retry`, `outbox skip` of dead letters,
//                    `destination map` of the mapping that follows as JSON
//   stop             as by SIGTERM
import { spawnSync } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { type Serving, startServing } from '../../src/app/serving.ts'
import { systemClock } from '../../src/base/clock.ts'
import { messageOf, TransientError } from '../../src/base/errors.ts'
import { createLog } from '../../src/base/log.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { openDb } from '../../src/store/open/open.ts'
import { storeMappings } from '../../src/store/outbox/push-map.ts'
import { retryRows, skipRows } from '../../src/store/outbox/retry.ts'

const armed = new Map<string, { left: number; readonly how: string }>()

function failPoint(point: string): void {
  const here = armed.get(point)
  if (!here) return
  here.left -= 1
  if (here.left > 0) return
  if (here.how === 'refuse') throw new Error(`the store refuses what is written at ${point}`)
  armed.delete(point)
  if (here.how === 'full') {
    limitFiles('0')
    console.log('full')
    return
  }
  if (here.how === 'throw') throw new TransientError(`the store fails at ${point}`)
  // No line after this one runs: the system has ended the process before the call returns.
  process.kill(process.pid, 'SIGKILL')
}

/** The soft limit on the size of files stands for the end of the disk: a user may raise it again. */
function limitFiles(bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the size of files could not be limited: ${stderr}`)
}

let serving: Serving | undefined
let database: Config['database'] | undefined
/** Commands that met a full disk. */
const failed: [name: string, words: string][] = []

async function command(name: string, words: string): Promise<void> {
  if (!database) throw new Error('not started')
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const db = await openDb(database, { clock: systemClock, log, failPoint })
  try {
    if (name === 'retry') await retryRows(db, {}, 0, 1_000)
    if (name === 'skip') await skipRows(db, {}, 0, 1_000)
    if (name === 'map') await storeMappings(db, [JSON.parse(words)], 'import')
  } finally {
    await db.close()
  }
}

/** For the next process: whoever is killed cannot do it at its end. Once it serves, most of what it needs is compiled. */
function keepCompiled(): void {
  if (serving) flushCompileCache()
}

async function obey(line: string): Promise<void> {
  const [order, ...words] = line.split(' ')
  keepCompiled()
  if (order === 'arm') {
    const [point = '', n = '1', how = 'kill'] = words
    armed.set(point, { left: Number(n), how })
    console.log('armed')
  }
  if (order === 'room') {
    armed.clear()
    limitFiles('unlimited')
    for (const [failedName, given] of failed.splice(0)) await command(failedName, given)
  }
  if (order === 'start') {
    const env = JSON.parse(words.join(' ')) as Record<string, string>
    database = loadConfig(env).database
    serving = await startServing(async () => loadConfig(env), { role: 'all', overrides: { failPoint } })
    serving.failed.catch(fail)
    keepCompiled()
    console.log('ready', serving.receiver, serving.ops)
  }
  if (order === 'retry' || order === 'skip' || order === 'map') {
    const given = words.join(' ')
    await command(order, given).catch((error: unknown) => {
      if (!(error instanceof TransientError)) throw error
      failed.push([order, given])
    })
  }
  if (order === 'stop') {
    await serving?.stop()
    console.log('stopped')
    process.exit(0)
  }
}

function fail(error: unknown): void {
  console.log('failed', messageOf(error))
  process.exit(1)
}

const orders = createInterface({ input: process.stdin })
orders.on('line', (line) => void obey(line).catch(fail))
// Whoever gave the orders is gone, be it in the middle of a test.
orders.on('close', () => process.exit(1))
console.log('loaded')
