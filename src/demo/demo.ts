import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { whenAborted } from '../base/abortable.ts'
import type { Clock } from '../base/clock.ts'
import type { Host } from '../base/host.ts'
import type { Log } from '../base/log.ts'
import { runExit } from '../reconcile/run/outcome.ts'
import { changesAfter } from '../store/changes/reader.ts'
import { countArrivals } from '../store/completeness/arrival-counts.ts'
import { countLostWebhooks, unannounced } from '../store/completeness/lost-webhooks.ts'
import type { Db } from '../store/engine/db.ts'
import { listDocuments } from '../store/mirror/documents.ts'
import { someKnownId } from '../store/mirror/submissions.ts'
import { openDb } from '../store/open/open.ts'
import { HOST_NOT_LISTED } from '../upstream/http/elsewhere.ts'
import type { Ams } from './ams.ts'
import { type AmsVerdict, checkAms } from './ams-check.ts'
import { Arrivals } from './arrivals.ts'
import { type Child, startChild } from './child.ts'
import type { Compared } from './compare.ts'
import { prepareConsole } from './console.ts'
import { leavePracticeIssues } from './practice.ts'
import { startReceivers } from './receivers.ts'
import { Screen } from './screen.ts'
import { Service } from './service.ts'
import { settle } from './settle.ts'
import { type DemoResult, faultsText, verdictOf } from './verdict.ts'

const ACCOUNT = 'default'
const SPEED = 12
const POLL_MS = 150
/** Time limit in ms for documents to be fetched, and for the AMS to receive all changes. */
const SETTLE_MS = 60_000
const PAGE = 500

/**
 * Intervals so short that every fault is found and repaired during the demo.
 */
const FAST_SETTINGS = {
  POLL_ACTIVE: '1s',
  POLL_QUIET: '2s',
  POLL_MAX: '2s',
  REPLAY_ACTIVE: '4s',
}

const ADDRESSES = { HOST: '127.0.0.1', PORT: '0', OPS_HOST: '127.0.0.1', OPS_PORT: '0' }

export interface DemoOptions {
  readonly host: Host
  readonly clock: Clock
  readonly log: Log
  /** Folder for the database and the logs. The folder exists and contains no database. */
  readonly folder: string
  /** Whether to keep everything running after the demo, until the signal of `host` aborts. */
  readonly hold: boolean
}

/**
 * Runs the demo. Starts the emulator with faults and the program on SQLite, plays the story, and compares the mirror
 * with the service. Prints about 24 lines, which fit on one screen. The last five lines are the verdict.
 * @returns true if the mirror, the AMS, and a reconcile run agree with the service, and the exported record is valid.
 * With `hold`, returns only after the signal of `host` aborts.
 * @throws Error if a process exits unexpectedly. If the signal of `host` aborts before the verdict, throws the
 * signal's reason.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { host, clock, log, folder } = options
  const path = join(folder, 'mirror.db')
  const closing = new AsyncDisposableStack()
  const screen = new Screen(host.stdout, join(folder, 'events.log'), () => clock.now())
  closing.defer(() => screen.close())
  try {
    screen.text('Runs the service emulator with faults and submission-mirror on SQLite, for about a minute.')
    const { sandbox, account, service } = await startSandbox(options, closing)
    const { ams, secretsFile, settingsFile } = await startReceivers({
      folder,
      database: resolve(path),
      account,
      now: () => clock.now(),
      closing,
    })
    const settings = { ...ADDRESSES, CONFIG_FILE: settingsFile }
    const page = await prepareConsole(host, screen)
    const serveSettings = { ...settings, ...FAST_SETTINGS, ...page.settings }
    const serve = startChild(host, 'serve', ['serve'], serveSettings, join(folder, 'serve.log'))
    closing.defer(async () => void (await serve.stop()))
    const { receiver, ops } = await serve.first(addressesIn)
    await page.printAddress(ops)
    const db = await openDb({ kind: 'sqlite', path }, { clock, log })
    closing.defer(() => db.close())
    const arrivals = new Arrivals(db.read, screen)
    sandbox.onLine((line) => arrivals.readSandboxLine(line))
    await service.deliverTo(`${receiver}/webhooks`)
    const run: DemoRun = { ...options, screen, service, arrivals, ams, db, children: [sandbox, serve] }
    await trackHistory(run, settings)
    await playStory(run)
    // Remove the faults. Otherwise, a read that failed several times would wait for minutes before its next attempt.
    await service.removeFaults()
    const compared = await settleMirror(run)
    const pushed = await settleAms(run)
    await arrivals.follow()
    ams.report(screen, true)
    screen.text(faultsText(await service.stats()))
    const reconciliation = await reconcile(host, serveSettings, folder)
    const isExported = await exportBound(run, serveSettings)
    await countAll(db)
    const issues = await leavePracticeIssues({ page, webhooks: `${receiver}/webhooks`, secretsFile, clock, signal: host.signal })
    const hasReport = existsSync(join(folder, REPORT))
    const files = ['events.log', 'ams.log', RECORD, ...(hasReport ? [REPORT] : [])]
    screen.text(`Results in ${shortPath(folder)}: ${files.join(', ')}. To look into the database:`)
    screen.text(`  export CONFIG_FILE=${shortPath(settingsFile)}\n  ${host.command} status`)
    if (options.hold) {
      screen.text('Everything keeps running until Ctrl+C. Issues to fix in the console:')
      for (const issue of issues) screen.text(`- ${issue}`)
    }
    const { isGood, lines } = verdictOf({
      compared,
      pushed,
      badSignatures: ams.badSignatures,
      tally: arrivals.tally,
      lostWebhooks: (await unannounced(db.read, ACCOUNT)).length,
      reconciliation,
    })
    for (const line of lines) screen.text(line)
    if (options.hold) await Promise.race([whenAborted(host.signal), ...run.children.map((child) => child.died)])
    return isGood && isExported
  } finally {
    await closing.disposeAsync()
  }
}

/** Counts all arrivals and lost webhooks now. `serve` counts only from time to time. */
async function countAll(db: Db): Promise<void> {
  for (let more = true; more; ) more = await countArrivals(db)
  // Wait 0 ms before a missing webhook counts as lost, because no webhook can still arrive. `status` then shows the
  // same number of lost webhooks as the demo.
  for (let more = true; more; ) more = (await countLostWebhooks(db, ACCOUNT, 0)).more
}

function addressesIn(line: string): { readonly receiver: string; readonly ops: string } | undefined {
  return line.includes('"ready after') ? (JSON.parse(line) as { receiver: string; ops: string }) : undefined
}

interface DemoRun extends DemoOptions {
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
  // Remove two kinds of faults. After a 404, the program waits 30 s, which is too long for the demo. With a wrong
  // clock of the service, deliveries would seem to arrive before they were sent.
  await service.removeFaultsOf(404, 'clock_skew')
  return { sandbox, account, service }
}

async function trackHistory(run: DemoRun, settings: Readonly<Record<string, string>>): Promise<void> {
  const { submissions } = await run.service.truth()
  for (const { submission_id, requirements } of submissions) run.arrivals.name(submission_id, String(requirements['insured_name']))
  const old = submissions.filter(({ events, messages }) => events.length + messages.length > 0).map((each) => each.submission_id)
  const track = startChild(run.host, 'track', ['track', ...old], settings, join(run.folder, 'track.log'))
  await track.first((line) => (line.includes('tracked in account') ? line : undefined))
  await track.stop()
}

async function playStory(run: DemoRun): Promise<void> {
  await run.service.startStory()
  for (let stats = await run.service.stats(); !stats.story.ended || stats.deliveriesPending > 0; stats = await run.service.stats())
    await wait(run)
}

async function settleMirror(run: DemoRun): Promise<Compared[]> {
  const { db, clock } = run
  const onRequest = (n: number) => run.screen.event('poll', '-', `requested reads of ${n} submissions that differ from the service`)
  return await settle({ db, clock, account: ACCOUNT, truth: () => run.service.truth(), wait: () => wait(run), onRequest })
}

async function settleAms(run: DemoRun): Promise<AmsVerdict> {
  const until = run.clock.now() + SETTLE_MS
  const logged: { seq: number; submissionId: string | null }[] = []
  for (;;) {
    for (let more = true; more; ) {
      const changes = await changesAfter(run.db.read, logged.at(-1)?.seq ?? 0, PAGE)
      for (const { seq, submission_id: submissionId } of changes) logged.push({ seq, submissionId })
      more = changes.length === PAGE
    }
    const verdict = checkAms(logged, run.ams.arrivals)
    if ((verdict.missing === 0 && (await areDocumentsFetched(run.db))) || run.clock.now() > until) return verdict
    await wait(run)
  }
}

/** A fetched document is a further change for the AMS. The document on an unlisted host is never fetched. */
async function areDocumentsFetched({ read }: Db): Promise<boolean> {
  const waiting = await listDocuments(read, { state: 'waiting' }, 1)
  const failed = await listDocuments(read, { state: 'failed' }, PAGE)
  return waiting.length === 0 && failed.every(({ error }) => error?.startsWith(HOST_NOT_LISTED))
}

async function wait(run: DemoRun): Promise<void> {
  await run.arrivals.follow()
  run.ams.report(run.screen)
  await Promise.race([run.clock.sleep(POLL_MS, run.host.signal), ...run.children.map((child) => child.died)])
  run.host.signal.throwIfAborted()
}

function shortPath(path: string): string {
  const short = relative('', path)
  return short.startsWith('..') ? path : short
}

const REPORT = 'reconciliation.html'
const RECORD = 'record.zip'

/**
 * Exports the record of a bound submission, and checks the export, with the commands that an operator uses.
 * @returns whether both commands succeeded.
 */
async function exportBound({ db, folder, host, screen }: DemoRun, settings: Readonly<Record<string, string>>): Promise<boolean> {
  const bound = await someKnownId(db.read, ACCOUNT, 'policy')
  const file = join(folder, RECORD)
  const runExport = async (...args: string[]) => {
    const child = startChild(host, 'export', ['submission', 'export', ...args], settings, join(folder, 'export.log'))
    if (args.includes('--check')) child.onLine((line) => screen.text(`Record of a bound submission: ${line}`))
    return (await child.finish()) === 0
  }
  return (await runExport(bound?.submissionId ?? '', '--to', file)) && (await runExport('--check', file))
}

/**
 * Runs the command `reconcile` while `serve` is running.
 * @param settings the settings of `serve`.
 */
async function reconcile(host: Host, settings: Readonly<Record<string, string>>, folder: string): Promise<DemoResult['reconciliation']> {
  const child = startChild(host, 'reconcile', ['reconcile', '--report', join(folder, REPORT)], settings, join(folder, 'reconcile.log'))
  const lines: string[] = []
  child.onLine((line) => lines.push(line))
  const isClean = (await child.finish()) === runExit.clean
  const summary = lines.filter((line) => !/^(?:run|the report) /.test(line)).slice(0, 2)
  return { summary: summary.join('; '), isClean }
}
