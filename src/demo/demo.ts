import { join, relative, resolve } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Host } from '../base/host.ts'
import type { Log } from '../base/log.ts'
import { whenAborted } from '../base/when-aborted.ts'
import { table } from '../ops/output/table.ts'
import { pluralize } from '../ops/output/text.ts'
import { changesAfter } from '../store/changes/reader.ts'
import { countArrivals } from '../store/completeness/arrival-counts.ts'
import { unannounced } from '../store/completeness/lost-webhooks.ts'
import type { Db } from '../store/engine/db.ts'
import { openDb } from '../store/open/open.ts'
import type { Ams } from './ams.ts'
import { type AmsVerdict, checkAms, isWhole } from './ams-check.ts'
import { Arrivals } from './arrivals.ts'
import { type Child, startChild } from './child.ts'
import type { Compared } from './compare.ts'
import { type DemoConsole, prepareConsole } from './console.ts'
import { leavePractice } from './practice.ts'
import { prove } from './proof.ts'
import { startReceivers } from './receivers.ts'
import { Screen } from './screen.ts'
import { Service } from './service.ts'
import { settle } from './settle.ts'
import { amsTable, serviceTable } from './summary.ts'

const ACCOUNT = 'default'
/** Five minutes of story in 25 s. */
const SPEED = 12
const LOOK_MS = 150
/** How long the AMS may take to have everything. */
const SETTLE_MS = 60_000
const SHOWN_DIFFERENCES = 20
const PAGE = 500

/**
 * Short intervals, so that what is lost, late or refused is found within the demo, and a rate that throttling does not reduce to nothing
 * within half a minute.
 */
const HASTE = {
  WEBHOOK_LOST_AFTER: '5s',
  POLL_ACTIVE: '1s',
  POLL_QUIET: '2s',
  POLL_MAX: '2s',
  REPLAY_ACTIVE: '4s',
  UPSTREAM_RPS: '1000',
}

/** Both ports are on loopback, at any free number. */
const ADDRESSES = { HOST: '127.0.0.1', PORT: '0', OPS_HOST: '127.0.0.1', OPS_PORT: '0' }

export interface DemoOptions {
  readonly host: Host
  readonly clock: Clock
  readonly log: Log
  /** An existing folder without a database, for the database and the logs. */
  readonly folder: string
  /** Whether everything runs on after the end, until the host's signal aborts. */
  readonly hold: boolean
}

/**
 * Starts the emulator with its faults on, and the product beside it on SQLite. Shows what arrives and how, and compares the mirror with
 * the service's truth at the end.
 * @returns whether they agree, and a reconciliation proves it.
 * @throws Error when one of the two processes ends by itself, and the reason of the host's signal when it aborts.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { host, clock, log, folder } = options
  const screen = new Screen(host.stdout, () => clock.now())
  const path = join(folder, 'mirror.db')
  const closing = new AsyncDisposableStack()
  try {
    screen.text('An emulator of the service with its faults on, and submission-mirror beside it on SQLite.')
    const { sandbox, account, service } = await startSandbox(options, closing)
    const receivers = await startReceivers({ folder, database: resolve(path), account, now: () => clock.now(), closing })
    screen.text(`An AMS that is told every change. Watch it in another terminal: tail -f ${shortPath(receivers.log)}`)
    const { ams, secretsFile } = receivers
    const settings = { ...ADDRESSES, CONFIG_FILE: receivers.settingsFile }
    const page = await prepareConsole(host, screen)
    const serveSettings = { ...settings, ...HASTE, ...page.settings }
    const serve = startChild(host, 'serve', ['serve'], serveSettings, join(folder, 'serve.log'))
    closing.defer(async () => void (await serve.stop()))
    const { receiver, ops } = await serve.first(addressesIn)
    await page.tell(ops)
    const db = await openDb({ kind: 'sqlite', path }, { clock, log })
    closing.defer(() => db.close())
    const arrivals = new Arrivals(db.read, screen)
    sandbox.onLine((line) => arrivals.hear(line))
    await service.deliverTo(`${receiver}/webhooks`)
    const watching = { ...options, screen, service, arrivals, ams, db, children: [sandbox, serve] }
    await trackHistory(watching, settings)
    await watchStory(watching)
    // From here on the service answers without faults: what it refuses for good cannot be proven, and reads would wait for minutes.
    await service.calm()
    const compared = await settleMirror(watching)
    const pushed = await settleAms(watching)
    // Changes since the last look are part of the comparison, so they are shown too.
    await arrivals.follow()
    ams.tell(screen, true)
    await summarize(watching, compared)
    screen.heading('The change log and the AMS, change by change')
    screen.text(amsTable(pushed, ams.badSignatures))
    const proven = await reconcile(watching, serveSettings)
    // `serve` counts once a minute how records became known, which the demo may not live to see.
    for (let more = true; more; ) more = await countArrivals(db)
    screen.heading('One of each is left to practise on in the console, while --hold keeps it running:')
    const left = await leavePractice({ page, webhooks: `${receiver}/webhooks`, secretsFile, clock, signal: host.signal })
    for (const each of left) screen.text(`- ${each}`)
    const isRight = finish(watching, compared, isWhole(pushed), proven, receivers.settingsFile)
    if (options.hold) await hold(watching, page)
    return isRight
  } finally {
    await closing.disposeAsync()
  }
}

/** The addresses of a `serve` that is ready. */
function addressesIn(line: string): { readonly receiver: string; readonly ops: string } | undefined {
  return line.includes('"ready after') ? (JSON.parse(line) as { receiver: string; ops: string }) : undefined
}

/** Leaves everything running for whoever looks around. */
async function hold({ host, screen, children }: Watching, page: DemoConsole): Promise<void> {
  screen.text('Everything runs on, to look around. Ctrl+C ends it.')
  page.tellAgain()
  await Promise.race([whenAborted(host.signal), ...children.map((child) => child.died)])
}

interface Watching extends DemoOptions {
  readonly screen: Screen
  readonly service: Service
  readonly arrivals: Arrivals
  readonly ams: Ams
  readonly db: Db
  readonly children: readonly Child[]
}

async function startSandbox({ host, folder }: DemoOptions, closing: AsyncDisposableStack) {
  const args = ['sandbox', '--port', '0', '--faults', 'all', '--paused', '--speed', String(SPEED)]
  const sandbox = startChild(host, 'the sandbox', args, {}, join(folder, 'sandbox.log'))
  closing.defer(async () => void (await sandbox.stop()))
  const setting = (name: string) => sandbox.first((line) => (line.startsWith(`${name}=`) ? line.slice(name.length + 1) : undefined))
  const account = {
    baseUrl: await setting('BROKER_API_BASE_URL'),
    clientId: await setting('BROKER_API_CLIENT_ID'),
    clientSecret: await setting('BROKER_API_CLIENT_SECRET'),
    webhookSecret: await setting('WEBHOOK_SECRETS'),
  }
  const service = new Service(new URL(account.baseUrl).origin)
  // What is "not found" is asked for again after half a minute and not before: right, but long to watch.
  await service.withoutStatus(404)
  return { sandbox, account, service }
}

/** No webhook repeats what happened before the endpoint was made, so those submissions are tracked by hand. */
async function trackHistory(w: Watching, settings: Readonly<Record<string, string>>): Promise<void> {
  const { submissions } = await w.service.truth()
  for (const { submission_id, requirements } of submissions) w.arrivals.name(submission_id, requirements.insured_name)
  const old = submissions.filter(({ events, messages }) => events.length + messages.length > 0).map((each) => each.submission_id)
  w.screen.heading(`submission-mirror track: ${old.length} submissions have a history that no webhook repeats`)
  const track = startChild(w.host, 'track', ['track', ...old], settings, join(w.folder, 'track.log'))
  const tracked = await track.first((line) => (line.includes('tracked in account') ? line : undefined))
  await track.stop()
  w.screen.text(tracked)
}

async function watchStory(w: Watching): Promise<void> {
  w.screen.heading('Five minutes of the service in half a minute')
  w.screen.restartClock()
  await w.service.startStory()
  for (let stats = await w.service.stats(); !stats.story.ended || stats.deliveriesPending > 0; stats = await w.service.stats())
    await look(w)
}

async function settleMirror(w: Watching): Promise<Compared[]> {
  const onRequest = (n: number) =>
    w.screen.text(`reads of ${pluralize(n, 'submission')} requested again, which still differ from the service`)
  const { db, clock } = w
  return await settle({ db, clock, account: ACCOUNT, truth: () => w.service.truth(), look: () => look(w), onRequest })
}

/** @returns the last comparison of what the AMS took with the change log: whole, or as it is when the time is over. */
async function settleAms(w: Watching): Promise<AmsVerdict> {
  const until = w.clock.now() + SETTLE_MS
  const logged: { seq: number; submissionId: string | null }[] = []
  for (;;) {
    for (let more = true; more; ) {
      const changes = await changesAfter(w.db.read, logged.at(-1)?.seq ?? 0, PAGE)
      for (const { seq, submission_id: submissionId } of changes) logged.push({ seq, submissionId })
      more = changes.length === PAGE
    }
    const verdict = checkAms(logged, w.ams.arrivals)
    if (verdict.missing === 0 || w.clock.now() > until) return verdict
    await look(w)
  }
}

async function look(w: Watching): Promise<void> {
  await w.arrivals.follow()
  w.ams.tell(w.screen)
  await Promise.race([w.clock.sleep(LOOK_MS, w.host.signal), ...w.children.map((child) => child.died)])
  w.host.signal.throwIfAborted()
}

async function summarize(w: Watching, compared: readonly Compared[]): Promise<void> {
  const { tally, lost } = w.arrivals
  const late = (await unannounced(w.db.read, ACCOUNT)).filter((id) => !lost.has(id)).length
  w.screen.heading('What the service did')
  w.screen.text(serviceTable(await w.service.stats()))
  w.screen.heading('How events and messages reached the mirror')
  w.screen.text(
    table({
      headings: ['way', 'records'],
      rows: [
        ['by webhook', tally.webhook],
        ['by polling, before their webhook came or without one', tally.poll],
        ['of which no webhook ever told: visible late, behind the cursor', late],
        ['by polling, after their webhook was lost', tally.found],
        ['by reading the history of tracked submissions', tally.history],
      ],
    }),
  )
  w.screen.heading('The mirror and the service, record by record')
  w.screen.text(
    table({
      headings: ['table', 'shown by the service', 'different in the mirror'],
      rows: compared.map((each) => [each.table, each.shown, each.differences.length]),
    }),
  )
}

/** @returns whether it proved the mirror right. */
async function reconcile(w: Watching, settings: Readonly<Record<string, string>>): Promise<boolean> {
  w.screen.heading('submission-mirror reconcile: all is read from the beginning, and compared')
  const { summary, report, isProof } = await prove(w.host, settings, w.folder)
  w.screen.text(summary)
  if (report !== null) w.screen.text(`The report, for a browser or to print and file: ${shortPath(report)}`)
  return isProof
}

function finish(w: Watching, compared: readonly Compared[], pushed: boolean, proven: boolean, settingsFile: string): boolean {
  const differences = compared.flatMap((each) => each.differences)
  for (const { table: of, submissionId, key, what } of differences.slice(0, SHOWN_DIFFERENCES)) {
    w.screen.text(`${of} ${submissionId} ${key}: ${typeof what === 'string' ? what : `different ${what.join(', ')}`}`)
  }
  if (differences.length > SHOWN_DIFFERENCES) w.screen.text(`and ${differences.length - SHOWN_DIFFERENCES} more`)
  w.screen.heading('The database is left for you to look into:')
  w.screen.text(`  export CONFIG_FILE=${shortPath(settingsFile)}\n  ${w.host.command} status\n`)
  w.screen.text(pushed ? 'the AMS has every change, in order' : 'the AMS lacks changes, or has them out of order')
  if (!proven) w.screen.text(`the reconciliation did not prove it: ${shortPath(join(w.folder, 'reconcile.log'))} tells why`)
  w.screen.text(differences.length === 0 ? 'mirror agrees with the service' : 'the mirror differs from the service')
  return pushed && proven && differences.length === 0
}

function shortPath(path: string): string {
  const short = relative('', path)
  return short.startsWith('..') ? path : short
}
