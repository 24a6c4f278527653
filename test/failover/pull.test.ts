import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import { columnsWhere, isInChangeLog, type Row } from '../../src/model/entity.ts'
import { entityIdOf } from '../../src/model/row-key.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { infoOf } from '../../src/store/changes/log-info.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { accountEnv, databaseEnv, LogLines, type ServeProcess, startServe } from '../e2e/serve.ts'
import { openAgain } from '../tools/databases.ts'
import { freePort } from '../tools/free-port.ts'
import { rowsOf } from '../tools/mirror.ts'
import { until } from '../tools/until.ts'
import { Cluster } from './cluster.ts'
import { Senders } from './senders.ts'

const EXAMPLE = join(import.meta.dirname, '../client/examples/follow.ts')
const TOKEN = 'reader-0123456789-abcdef'
const SUBMISSIONS = 4
/** Acknowledged deliveries between two failures, including those the standby misses. */
const SOME = 10
const LAG = 10

interface Copy {
  readonly epoch: string
  readonly seq: number
  readonly tables: Readonly<Record<string, Readonly<Record<string, Row>>>>
}

/** The example in its own process, restarted on the same file. */
class Reader {
  readonly #url: string
  readonly #file: string
  #child: ChildProcess | null = null
  #log = new LogLines()
  /** Of all its processes. */
  readonly lines: string[] = []

  constructor(url: string, file: string) {
    this.#url = url
    this.#file = file
  }

  start(): void {
    const log = new LogLines()
    const env = { MIRROR_URL: this.#url, MIRROR_TOKEN: TOKEN, COPY: this.#file, TABLES: entities.map(({ table }) => table).join(',') }
    const hear = (line: string) => {
      this.lines.push(line)
      log.hear(line)
    }
    const child = spawn(process.execPath, [EXAMPLE], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', hear)
    child.on('close', () => log.end())
    this.#child = child
    this.#log = log
  }

  says(part: string): Promise<string> {
    return this.#log.says(part)
  }

  /** The file as after a power failure. */
  copy(): Copy {
    return JSON.parse(readFileSync(this.#file, 'utf8')) as Copy
  }

  async kill(): Promise<void> {
    if (this.#child === null) return
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGKILL')
    await closed
    this.#child = null
  }
}

/** Rows as the change log has them, by table, account and key. */
async function mirrored(db: Db): Promise<Copy['tables']> {
  const tables: Record<string, Record<string, Row>> = {}
  for (const entity of entities) {
    const columns = columnsWhere(entity, isInChangeLog)
    const named = (await rowsOf(db, entity)).map((row) => {
      const logged = Object.fromEntries(columns.map((column) => [column, row[column] ?? null]))
      return [`${row['account']} ${entityIdOf(entity, row)}`, logged]
    })
    tables[entity.table] = Object.fromEntries(named)
  }
  return tables
}

it('the example for readers by HTTP has what the mirror has, over kills of both sides and a failover', { timeout: 400_000 }, async () => {
  const closing: (() => unknown)[] = []
  onTestFinished(async () => {
    for (const close of closing.reverse()) await close()
  })
  const cluster = await Cluster.start({ synchronous: false })
  closing.push(() => cluster.remove())
  const db = await openAgain(cluster.config)
  closing.push(() => db.close())
  await migrate(db)
  const sandbox = await startSandbox({ submissions: 0, autoStart: false, seed: 'pull' })
  closing.push(() => sandbox.close())
  const submissions = Array.from({ length: SUBMISSIONS }, () => sandbox.addSubmission('default'))
  const [port, opsPort] = [await freePort(), await freePort()]
  const own = { PORT: String(port), OPS_PORT: String(opsPort), OPS_TOKENS: `reader:${TOKEN}:operator` }
  const serve = () => startServe({ ...databaseEnv(cluster.config), ...accountEnv(sandbox), ...own })
  let running: ServeProcess = await serve()
  closing.push(() => running.kill())
  const senders = new Senders(sandbox, running.receiver, submissions)
  closing.push(() => senders.stop().catch(() => undefined))
  await senders.more(SOME)

  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-pull-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const reader = new Reader(running.ops, join(folder, 'copy.json'))
  closing.push(() => reader.kill())
  const isThere = async () => {
    const { log_epoch, last_seq } = await infoOf(db.read)
    const { epoch, seq } = reader.copy()
    return epoch === log_epoch && seq === last_seq
  }
  reader.start()
  await reader.says('loaded')

  // The reader is killed and catches up later.
  await Promise.all([reader.says('followed'), senders.more(SOME)])
  await reader.kill()
  const { seq } = reader.copy()
  await senders.more(SOME)
  reader.start()
  await reader.says('followed')
  expect(reader.lines.filter((line) => line.startsWith('loaded'))).toHaveLength(1)
  expect(reader.copy().seq).toBeGreaterThan(seq)

  // The mirror is killed, and the reader reconnects.
  await running.kill()
  running = await serve()
  await Promise.all([reader.says('followed'), senders.more(SOME)])

  // The reader takes changes that are lost with the primary.
  await cluster.cutOff()
  const { last_seq: common, log_epoch: lost } = await infoOf(db.read)
  await Promise.all([until('the reader has changes that will be lost', () => reader.copy().seq > common), senders.more(LAG)])
  const reloaded = reader.says('loaded')
  await cluster.fail()
  await Promise.all([reloaded, senders.more(SOME)])
  expect(reader.copy().epoch).not.toBe(lost)

  // Both are killed.
  await Promise.all([reader.kill(), running.kill()])
  running = await serve()
  reader.start()
  await senders.more(SOME)
  await senders.stop()
  // Full re-reads restore lost messages one by one; the log is complete when all are back.
  await until('the mirror has every message', async () => {
    const stored = new Set((await db.read.sql.selectFrom('thread_messages').select('message_id').execute()).map((row) => row.message_id))
    return senders.acknowledged.every(({ messageId }) => stored.has(messageId))
  })
  // A poll may change a row just before the end.
  for (let isComplete = false; !isComplete; ) {
    await until('the reader has everything', isThere)
    await running.stop()
    isComplete = await isThere()
    if (!isComplete) running = await serve()
  }
  await reader.kill()
  expect(reader.lines.filter((line) => line.includes('came again'))).toEqual([])
  const { tables } = reader.copy()
  const truth = await mirrored(db)
  expect(Object.values(truth).flatMap((rows) => Object.keys(rows)).length).toBeGreaterThan(SOME * 5)
  expect(tables).toEqual(truth)
})
