/**
 * Runs `serve` with realistic settings but shorter waits against a sandbox with occasional faults, and compares at the end, in real time.
 * node test/e2e/soak.ts [--minutes 10] [--submissions 40] [--seed text]
 * Prints a line every 30 s and the result; exits with 0 if mirror and service agree, else with 1.
 */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { differences, inboxRows, logFaults, waitFor } from './agreement.ts'
import { Stage } from './stage.ts'

const LINE_EVERY_MS = 30_000
/** Length of the story at speed 1. */
const STORY_MINUTES = 5
/** After the story: a stopped account retries after 15 minutes, a submission not found twice after two. */
const LAST_WORD_MS = 20 * 60_000
const SHOWN = 20
const SETTINGS = {
  POLL_ACTIVE: '5s',
  POLL_QUIET: '30s',
  POLL_MAX: '1m',
  POLL_DORMANT: '1m',
  REPLAY_ACTIVE: '1m',
  REPLAY_QUIET: '1m',
  REPLAY_DORMANT: '1m',
  UPSTREAM_RPS: '50',
  LOG_LEVEL: 'info',
}

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    submissions: { type: 'string', default: '40' },
    seed: { type: 'string', default: 'soak' },
  },
})
const minutes = Number(values.minutes)
const folder = await mkdtemp(join(tmpdir(), 'submission-mirror-soak-'))
const stage = await Stage.open(
  { kind: 'sqlite', path: join(folder, 'mirror.db') },
  { seed: values.seed, submissions: Number(values.submissions), speed: STORY_MINUTES / minutes, faults: 'all' },
)
const { sandbox } = stage
const startedAt = Date.now()
let exitCode = 1
try {
  const running = await stage.serve(SETTINGS)
  const db = await stage.openStore()
  await stage.track()
  stage.deliverTo(running.receiver)
  sandbox.story.start()
  const over = new AbortController()
  const lines = printLines(sandbox, db, over.signal)
  await sandbox.story.ended
  await sandbox.deliveries.idle()
  say('the story has ended; waiting until mirror and service agree')
  const agreed = await waitFor(async () => (await allDifferences(sandbox, db)).length === 0, LAST_WORD_MS)
  over.abort()
  await lines
  exitCode = (await verdict(sandbox, db, agreed, await running.stop())) ? 0 : 1
  if (exitCode !== 0) for (const line of running.lines().slice(-SHOWN)) console.log(line)
} finally {
  await stage.close()
  if (exitCode === 0) rmSync(folder, { recursive: true, force: true })
  else console.log(`the database is kept: ${join(folder, 'mirror.db')}`)
}
process.exitCode = exitCode

async function allDifferences(service: Sandbox, db: Db): Promise<string[]> {
  const found: string[] = []
  for (const name of service.accountNames) found.push(...(await differences(db, service, name)))
  return found
}

async function verdict(service: Sandbox, db: Db, agreed: boolean, code: number | null): Promise<boolean> {
  const faults = [
    ...(agreed ? [] : await allDifferences(service, db)),
    ...(await logFaults(db)),
    ...(await inboxRows(db)).filter((row) => row['state'] !== 'done').map((row) => `delivery ${row['delivery_id']} is ${row['state']}`),
    ...(code === 0 ? [] : [`serve ended with ${code}`]),
    ...service.activity.writes.map((request) => `the service was written to: ${request.operation}`),
  ]
  for (const fault of faults.slice(0, SHOWN)) console.log(fault)
  if (faults.length > SHOWN) console.log(`and ${faults.length - SHOWN} more`)
  say(faults.length === 0 ? 'mirror agrees with the service' : `${faults.length} faults`)
  return faults.length === 0
}

async function printLines(service: Sandbox, db: Db, signal: AbortSignal): Promise<void> {
  for (;;) {
    await systemClock.sleep(LINE_EVERY_MS, signal)
    if (signal.aborted) return
    const { story, deliveries, requests, faults } = service.stats()
    const struck = Object.values(faults).reduce((sum, n) => sum + n, 0)
    const reads = (requests['events'] ?? 0) + (requests['thread'] ?? 0) + (requests['requirements'] ?? 0)
    const { last_seq } = await db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
    const differing = (await allDifferences(service, db)).length
    say(
      `story ${story.played}/${story.total}, ${deliveries.acknowledged} deliveries taken, ${deliveries.lost} lost, ${reads} reads, ` +
        `${struck} faults, ${last_seq} changes, ${differing} differences`,
    )
  }
}

function say(text: string): void {
  console.log(`${String(Math.round((Date.now() - startedAt) / 1000)).padStart(5)} s  ${text}`)
}
