import { inApplyTransaction } from '../apply/apply.ts'
import { messageOf } from '../base/errors.ts'
import type { Service } from '../base/service.ts'
import type { Fact } from '../model/facts.ts'
import { idsUnder } from '../model/ids-under.ts'
import { timeFromMs } from '../model/time.ts'
import { LeaseLostError } from '../store/engine/leases.ts'
import { knownSubmissions } from '../store/mirror/submissions.ts'
import { findAccount } from '../store/reads/accounts.ts'
import {
  addProbes,
  capProbes,
  claimProbe,
  countProbes,
  isProbeDue,
  type ProbeClaim,
  type ProbeEnd,
  type ProbePath,
  settleProbe,
} from '../store/reads/discovery.ts'
import type { ProbeAnswer } from '../upstream/client.ts'
import { AuthRefusedError, UpstreamTransientError, upstreamClass } from '../upstream/http/errors.ts'
import { isSameBrokerage } from '../upstream/wire/answers.ts'
import type { GateOptions } from './account-gate.ts'

/** Probing waits for so much; nothing else waits for it. */
const TICK_MS = 2_000
const LEASE_MS = 300_000
/** Whose credentials these are is asked again before a probe when it was asked so long ago. */
const IDENTITY_MS = 600_000
const SUBMISSION_KEY = 'submission_id'
/** Submissions, and paths, in one transaction. */
const STEP = 200
const PAUSE_MS = 10
/** Submissions that one answer may bring in: a list of something else may bear the same key. The next answer brings more. */
const MOST_NEW = 10_000
/** Paths that one template may become. */
const MOST_PATHS = 10_000
/** Of the last answer so many characters are kept: of a path as it stands in the settings, and of each that a template became. */
const KEPT = { plain: 1024 * 1024, filled: 16 * 1024 } as const
const RETRY_BASE_MS = 60_000
/** A path that is refused again and again comes less often, up to so many times `every`. */
const MOST_EVERIES = 32
/** So many failures in a row that may pass, and it is told. */
const FAILURES_TO_TELL = 3
/** So many looks, of a minute together, at which it is not known whose the credentials are, and it is told. */
const LOOKS_TO_TELL = 30

export interface DiscoveryOptions extends GateOptions {
  /** As the settings have them: a segment in braces stands for the ids that other paths show under that key. */
  readonly paths: readonly string[]
  readonly everyMs: number
  /** Submissions that one answer may bring in; 10,000 when left out. */
  readonly mostNew?: number | undefined
}

/** What was tracked of an answer. */
interface Tracked {
  readonly found: number
  /** There is more that is new; it waits for the next answer. */
  readonly limited: boolean
}

/**
 * Looks for submissions that nobody has named, in the answers of paths that the settings name: the service describes no list of them.
 * Every uuid that an answer holds under a key `submission_id` is tracked from then on. Of the answers' shape nothing is assumed, one
 * page of each is read, and whatever a path answers, the account goes on as before.
 */
export class Discovery implements Service {
  readonly name: string
  readonly #o: DiscoveryOptions
  #identifiedAt = Number.NEGATIVE_INFINITY
  #quietUntil = Number.NEGATIVE_INFINITY
  #looksInVain = 0
  /** Templates of which a failure was told, and when. */
  readonly #told = new Map<string, number>()

  constructor(options: DiscoveryOptions) {
    this.#o = options
    this.name = `discovery of ${options.account}`
    for (const outcome of ['ok', 'limited', 'gone', 'rejected', 'auth', 'throttled', 'unavailable', 'oversized', 'network'])
      options.observer.count('discovery_probes_total', { account: options.account, outcome }, 0)
    options.observer.count('discovered_submissions_total', { account: options.account }, 0)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { account, db, paths, everyMs, clock } = this.#o
    const plain = paths.filter((path) => keyIn(path) === null).map((path) => ({ path, template: path }))
    await db.write('discovery-paths', async (tx) => {
      await addProbes(tx, account, plain, timeFromMs(clock.now()))
      await capProbes(tx, account, everyMs)
    })
    try {
      while (!signal.aborted) if (!(await this.#probeNext(signal))) await clock.sleep(TICK_MS, signal)
    } catch (error) {
      // What was being asked is broken off when discovery is stopped.
      if (!signal.aborted) throw error
    }
  }

  /** @returns whether a path was asked for; otherwise there is nothing to do for now. */
  async #probeNext(signal: AbortSignal): Promise<boolean> {
    const { account, db, client, clock, paths } = this.#o
    if (clock.now() < this.#quietUntil || client.waitMs() > 0) return false
    if (!(await isProbeDue(db.read, account, paths)) || !(await this.#isOurs(signal))) return false
    const claim = await claimProbe(db, account, paths, LEASE_MS)
    if (claim === null) return false
    try {
      await this.#settle(claim, await this.#probe(claim, signal))
      return true
    } catch (error) {
      if (error instanceof LeaseLostError) return true
      // Given back, so that nobody waits for the lease to end; when even that fails, it ends by itself.
      await this.#settle(claim, postponed(claim, 0)).catch(() => undefined)
      throw error
    }
  }

  /**
   * Whether the account may be read, and its credentials still belong to the brokerage that it holds the data of: what is found is
   * tracked, so it must never be another brokerage's. When they do not, its poller is about to stop the account.
   */
  async #isOurs(signal: AbortSignal): Promise<boolean> {
    const { account, db, client, clock, log } = this.#o
    const row = await findAccount(db.read, account)
    if (row === null || row.state !== 'active') return false
    if (row.brokerage === null) {
      this.#looksInVain += 1
      if (this.#looksInVain === LOOKS_TO_TELL)
        log.warn({ account }, 'nothing is probed until the service has said whose credentials these are; `doctor` tells why it has not')
      return false
    }
    if (clock.now() < this.#identifiedAt + IDENTITY_MS) return true
    try {
      if (!isSameBrokerage(row.brokerage, (await client.me(signal)).brokerage)) {
        this.#quietUntil = clock.now() + RETRY_BASE_MS
        return false
      }
    } catch (error) {
      if (upstreamClass(error) === null || signal.aborted) throw error
      log.debug({ account, err: error }, `nothing is probed: ${messageOf(error)}`)
      this.#quietUntil = clock.now() + RETRY_BASE_MS
      return false
    }
    this.#identifiedAt = clock.now()
    return true
  }

  async #probe(claim: ProbeClaim, signal: AbortSignal): Promise<ProbeEnd> {
    try {
      return await this.#take(claim, await this.#o.client.probe(claim.path, signal), signal)
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted) throw error
      // Not the path is refused but the account, and that is its poller's business.
      return error instanceof AuthRefusedError ? postponed(claim, RETRY_BASE_MS) : this.#failed(claim, error, kind)
    }
  }

  /** Tracks what the answer names, and adds the paths that it lets be asked for. */
  async #take(claim: ProbeClaim, answer: ProbeAnswer, signal: AbortSignal): Promise<ProbeEnd> {
    const { account, log, observer, everyMs, paths } = this.#o
    const templates = paths.flatMap((template) => ({ template, key: keyIn(template) ?? '' })).filter(({ key }) => key !== '')
    const { ids, whole } = idsUnder(answer.json, [SUBMISSION_KEY, ...templates.map(({ key }) => key)])
    const named = ids.get(SUBMISSION_KEY) ?? []
    const { found, limited } = await this.#track(claim, named, signal)
    for (const { template, key } of templates)
      if (template !== claim.template) await this.#addPaths(template, key, ids.get(key) ?? [], signal)
    observer.count('discovered_submissions_total', { account }, found)
    const at = { account, path: claim.path }
    if (found > 0) log.info({ ...at, found }, `${found} new submissions were found by probing ${claim.path}; they are tracked from now on`)
    if (limited)
      log.warn(
        at,
        `the answer of ${claim.path} names more than ${found} submissions that are not known; the others wait for the next probe`,
      )
    if (!whole) log.warn(at, `the answer of ${claim.path} is too large to be searched whole; name narrower paths (a query helps)`)
    if (claim.failures > 0) log.info(at, `probing ${claim.path} succeeds again`)
    const raw = answer.text.slice(0, claim.path === claim.template ? KEPT.plain : KEPT.filled)
    const told = { raw, bytes: Buffer.byteLength(answer.text), ids: named.length, found }
    return { outcome: limited ? 'limited' : 'ok', error: null, failures: 0, dueInMs: everyMs, answer: told }
  }

  /** Tracks those of the submissions that are not known, as many as one answer may bring in. */
  async #track(claim: ProbeClaim, submissionIds: readonly string[], signal: AbortSignal): Promise<Tracked> {
    const { account, clock, db, observer, mostNew = MOST_NEW } = this.#o
    let found = 0
    for (const ids of steps(submissionIds)) {
      const known = await knownSubmissions(
        db.read,
        ids.map((submission_id) => ({ account, submission_id })),
      )
      const trackedVia = `discovery:${claim.template}`
      const fresh = ids.filter((id) => !known.has(`${account} ${id}`))
      const facts = fresh
        .slice(0, mostNew - found)
        .map((submissionId): Fact => ({ kind: 'wake', account, submissionId, cause: 'poll', reads: [], trackedVia }))
      // Nothing but new submissions changes here, so each change is one.
      if (facts.length > 0)
        found += (await inApplyTransaction(db, observer, 'discovery-track', (transaction) => transaction.apply(facts))).changes
      if (facts.length < fresh.length) return { found, limited: true }
      await clock.sleep(PAUSE_MS, signal)
      signal.throwIfAborted()
    }
    return { found, limited: false }
  }

  async #addPaths(template: string, key: string, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const { account, clock, db, log } = this.#o
    const paths = ids.map((id): ProbePath => ({ path: template.replaceAll(`{${key}}`, id), template }))
    for (const step of steps(paths)) {
      const room = MOST_PATHS - (await countProbes(db.read, account, template))
      if (room <= 0) {
        log.warn({ account, template }, `${template} stands for more than ${MOST_PATHS} paths; only the first ones are probed`)
        return
      }
      await db.write('discovery-paths', (tx) => addProbes(tx, account, step.slice(0, room), timeFromMs(clock.now())))
      await clock.sleep(PAUSE_MS, signal)
      signal.throwIfAborted()
    }
  }

  #failed(claim: ProbeClaim, error: unknown, kind: string): ProbeEnd {
    const { clock, everyMs } = this.#o
    const failures = claim.failures + 1
    const mayPass = error instanceof UpstreamTransientError
    const retryMs = mayPass ? RETRY_BASE_MS * 2 ** Math.min(claim.failures, 16) : everyMs
    // Asked to wait, probing waits as a whole: it is what can be done without.
    if (kind === 'throttled') this.#quietUntil = clock.now() + Math.max(RETRY_BASE_MS, mayPass ? (error.retryAfterMs ?? 0) : 0)
    const filled = claim.path !== claim.template
    const dueInMs = filled && !mayPass ? everyMs * Math.min(MOST_EVERIES, 2 ** Math.min(failures, 16)) : Math.min(everyMs, retryMs)
    this.#tell(claim, messageOf(error), mayPass ? FAILURES_TO_TELL : 1, failures)
    return { outcome: kind, error: messageOf(error), failures, dueInMs }
  }

  /** One line when a path begins to fail; of the many paths of a template no more than one in the time between two rounds. */
  #tell(claim: ProbeClaim, reason: string, tellAt: number, failures: number): void {
    const { account, clock, everyMs, log } = this.#o
    if (failures !== tellAt || clock.now() < (this.#told.get(claim.template) ?? Number.NEGATIVE_INFINITY) + everyMs) return
    this.#told.set(claim.template, clock.now())
    log.error(
      { account, path: claim.path, template: claim.template },
      `probing ${claim.path} for submissions of account ${account} fails (${reason}). Submissions that nobody names are not found by it; ` +
        'nothing else is affected. Ask the service for the right path, or take it out of accounts[].discovery.paths',
    )
  }

  async #settle(claim: ProbeClaim, end: ProbeEnd): Promise<void> {
    const { account, db, observer } = this.#o
    await db.write('discovery-settle', (tx) => settleProbe(tx, claim, end))
    if (end.outcome !== null) observer.count('discovery_probes_total', { account, outcome: end.outcome })
  }
}

/** The key in braces of a path, if it has one. */
function keyIn(path: string): string | null {
  return /\{(\w+)\}/.exec(path)?.[1] ?? null
}

function postponed(claim: ProbeClaim, dueInMs: number): ProbeEnd {
  return { outcome: null, error: null, failures: claim.failures, dueInMs }
}

function* steps<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += STEP) yield items.slice(from, from + STEP)
}
