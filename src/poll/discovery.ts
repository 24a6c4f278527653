import { inApplyTransaction } from '../apply/apply.ts'
import { doublingMs } from '../base/clock.ts'
import { DueLoop } from '../base/due-loop.ts'
import { messageOf, retryAfterOf } from '../base/errors.ts'
import { idsOfItems, idsUnder } from '../model/ids-under.ts'
import { knownIdsIn } from '../model/known-ids.ts'
import type { Observation } from '../model/observations.ts'
import { knownSubmissions } from '../store/mirror/submissions.ts'
import { findAccount } from '../store/reads/accounts.ts'
import {
  addPaths,
  claimedPaths,
  claimPath,
  countPaths,
  isPathDue,
  type NamedPath,
  type PathClaim,
  type PathEnd,
  releasePath,
  settlePath,
  shortenPathWaits,
} from '../store/reads/path-reads.ts'
import { releaseLeft } from '../store/upkeep/dead-processes.ts'
import type { ProbeAnswer } from '../upstream/answer-bodies.ts'
import { AuthRefusedError, UpstreamTransientError, upstreamClass } from '../upstream/http/errors.ts'
import type { GateOptions } from './account-gate.ts'

const TICK_MS = 2_000
const LEASE_MS = 300_000
const IDENTITY_MS = 600_000
const SUBMISSION_KEY = 'submission_id'
const STEP = 200
const PAUSE_MS = 10
/**
 * Maximum number of new submissions that are tracked from one answer. Protects against a list of other objects that
 * also have a field `submission_id`.
 */
const MAX_NEW = 10_000
const MAX_PATHS = 10_000
const KEPT_CHARS = { plain: 1024 * 1024, expanded: 16 * 1024 } as const
const RETRY_BASE_MS = 60_000
/** Longest wait until a refused path with an id is read again, as a multiple of `everyMs`. */
const LONGEST_PROBE_FACTOR = 32
const FAILURES_TO_LOG = 3
/** If the identity stays unknown for this many ticks (about a minute), a warning is logged. */
const UNIDENTIFIED_TICKS_TO_LOG = 30

export interface DiscoveryOptions extends GateOptions {
  /**
   * Paths from the settings. A key in braces, such as `{insured_id}`, is replaced by each id that other answers contain
   * under this key.
   */
  readonly paths: readonly string[]
  /** By path: the field of listed items that contains the submission's id. */
  readonly idFields?: Readonly<Record<string, string>>
  readonly everyMs: number
  /** Maximum number of new submissions that are tracked from one answer. Default: 10,000. */
  readonly maxNew?: number | undefined
}

interface Tracked {
  readonly found: number
  /** True if the answer has more new submissions than `maxNew`. The next read of the path tracks more submissions. */
  readonly limited: boolean
}

/**
 * Finds submissions by reading paths from the settings, because the specification has no list of submissions. Tracks
 * every UUID under a key `submission_id`, and the ids in the field that `id_fields` names.
 * Reads only the first page of each path. A failure never affects the account.
 */
export class Discovery extends DueLoop<PathClaim> {
  readonly #o: DiscoveryOptions
  #identifiedAt = Number.NEGATIVE_INFINITY
  #pausedUntil = Number.NEGATIVE_INFINITY
  #unidentifiedTicks = 0
  /** Time of the last logged failure of each path from the settings, by the steady clock. */
  readonly #loggedAt = new Map<string, number>()

  constructor(options: DiscoveryOptions) {
    super(`discovery of ${options.account}`, options.log)
    this.#o = options
    for (const outcome of ['ok', 'limited', 'gone', 'rejected', 'auth', 'throttled', 'unavailable', 'oversized', 'network'])
      options.observer.count('discovery_probes_total', { account: options.account, outcome }, 0)
    options.observer.count('discovered_submissions_total', { account: options.account }, 0)
  }

  protected override async begin(): Promise<void> {
    const { account, db, paths, everyMs } = this.#o
    const plain = paths.filter((path) => keyIn(path) === null).map((path) => probeOf(path, path))
    await releaseLeft(db, claimedPaths, { account })
    await db.write('path-add', async (tx) => {
      await addPaths(tx, account, plain)
      await shortenPathWaits(tx, account, paths, everyMs)
    })
  }

  protected override async claim(signal: AbortSignal): Promise<readonly PathClaim[]> {
    const { account, db, client, clock, paths } = this.#o
    if (clock.steady() < this.#pausedUntil || client.waitMs() > 0) return []
    const query = { account, names: paths }
    if (!(await isPathDue(db.read, query)) || !(await this.#isIdentified(signal))) return []
    const claim = await claimPath(db, query, LEASE_MS)
    return claim === null ? [] : [claim]
  }

  protected override async carryOut(claim: PathClaim, signal: AbortSignal): Promise<void> {
    const { account, db, observer } = this.#o
    const end = await this.#probe(claim, signal)
    if (end === null) return await releasePath(db, claim, RETRY_BASE_MS)
    await db.write('path-settle', (tx) => settlePath(tx, claim, end))
    observer.count('discovery_probes_total', { account, outcome: end.outcome })
  }

  protected override async release(claim: PathClaim): Promise<void> {
    await releasePath(this.#o.db, claim)
  }

  protected override async rest(signal: AbortSignal): Promise<void> {
    await this.#o.clock.sleep(TICK_MS, signal)
  }

  /**
   * True if the account is active and its credentials belong to the stored brokerage. Submissions of another brokerage
   * must not be tracked. The poller, not this service, stops the account.
   */
  async #isIdentified(signal: AbortSignal): Promise<boolean> {
    const { account, db, client, clock, log } = this.#o
    const row = await findAccount(db.read, account)
    if (row === null || row.state !== 'active') return false
    if (row.brokerage === null) {
      this.#unidentifiedTicks += 1
      if (this.#unidentifiedTicks === UNIDENTIFIED_TICKS_TO_LOG)
        log.warn(
          { account },
          `discovery for account ${account} waits: the brokerage of its credentials is not known yet; run \`submission-mirror doctor\` to see why`,
        )
      return false
    }
    if (clock.steady() < this.#identifiedAt + IDENTITY_MS) return true
    try {
      if (row.brokerage !== (await client.me(signal)).brokerage) {
        this.#pausedUntil = clock.steady() + RETRY_BASE_MS
        return false
      }
    } catch (error) {
      if (upstreamClass(error) === null || signal.aborted) throw error
      log.debug({ account, err: error }, `discovery for account ${account} waits: ${messageOf(error)}`)
      this.#pausedUntil = clock.steady() + RETRY_BASE_MS
      return false
    }
    this.#identifiedAt = clock.steady()
    return true
  }

  async #probe(claim: PathClaim, signal: AbortSignal): Promise<PathEnd | null> {
    try {
      return await this.#trackAnswer(claim, await this.#o.client.probe(claim.path, signal), signal)
    } catch (error) {
      const kind = upstreamClass(error)
      if (kind === null || signal.aborted) throw error
      return error instanceof AuthRefusedError ? null : this.#failed(claim, error, kind)
    }
  }

  async #trackAnswer(claim: PathClaim, answer: ProbeAnswer, signal: AbortSignal): Promise<PathEnd> {
    const { account, log, observer, everyMs, paths, idFields = {} } = this.#o
    const templates = paths.flatMap((template) => ({ template, key: keyIn(template) ?? '' })).filter(({ key }) => key !== '')
    const { ids, isComplete: whole } = idsUnder(answer.json, [SUBMISSION_KEY, ...templates.map(({ key }) => key)])
    const field = idFields[claim.name]
    const listed = field === undefined ? [] : idsOfItems(answer.json, field)
    const named = [...new Set([...(ids.get(SUBMISSION_KEY) ?? []), ...listed])]
    const { found, limited } = await this.#track(claim, named, signal)
    await this.#nameIds(claim, answer.json, signal)
    for (const { template, key } of templates) if (template !== claim.name) await this.#addPaths(template, key, ids.get(key) ?? [], signal)
    observer.count('discovered_submissions_total', { account }, found)
    const at = { account, path: claim.path }
    if (found > 0) log.info({ ...at, found }, `${found} new submissions were found by probing ${claim.path}; they are tracked from now on`)
    if (limited)
      log.warn(at, `the answer of ${claim.path} names more than ${found} unknown submissions; the others wait for the next probe`)
    if (!whole)
      log.warn(at, `the answer of ${claim.path} is too large to be searched completely; configure narrower paths, for example with a query`)
    if (claim.failures > 0) log.info(at, `probing ${claim.path} succeeds again`)
    const raw = answer.text.slice(0, claim.path === claim.name ? KEPT_CHARS.plain : KEPT_CHARS.expanded)
    const kept = { raw, bytes: Buffer.byteLength(answer.text), ids: named.length, found }
    return { outcome: limited ? 'limited' : 'ok', error: null, failures: 0, dueInMs: everyMs, answer: kept }
  }

  async #track(claim: PathClaim, submissionIds: readonly string[], signal: AbortSignal): Promise<Tracked> {
    const { account, clock, db, observer, maxNew = MAX_NEW } = this.#o
    let found = 0
    for (const ids of steps(submissionIds)) {
      const known = await knownSubmissions(
        db.read,
        ids.map((submission_id) => ({ account, submission_id })),
      )
      const trackedVia = `discovery:${claim.name}`
      const fresh = ids.filter((id) => !known.has(`${account} ${id}`))
      const observations = fresh
        .slice(0, maxNew - found)
        .map((submissionId): Observation => ({ kind: 'request', account, submissionId, cause: 'poll', reads: [], trackedVia }))
      // `changes` is the number of new submissions, because each observation adds at most one submission.
      if (observations.length > 0)
        found += (await inApplyTransaction(db, observer, 'discovery-track', (transaction) => transaction.apply(observations))).changes
      if (observations.length < fresh.length) return { found, limited: true }
      await clock.sleep(PAUSE_MS, signal)
      signal.throwIfAborted()
    }
    return { found, limited: false }
  }

  async #nameIds(claim: PathClaim, answer: unknown, signal: AbortSignal): Promise<void> {
    const { account, clock, db, observer } = this.#o
    for (const ids of steps(knownIdsIn(answer, ''))) {
      const known = await knownSubmissions(
        db.read,
        ids.map(({ submissionId }) => ({ account, submission_id: submissionId })),
      )
      const observations = ids
        .filter(({ submissionId }) => submissionId === '' || known.has(`${account} ${submissionId}`))
        .map(
          (one): Observation => ({
            kind: 'named',
            account,
            submissionId: one.submissionId,
            cause: 'poll',
            ids: [one],
            via: `discovery:${claim.name}`,
          }),
        )
      if (observations.length > 0)
        await inApplyTransaction(db, observer, 'discovery-track', (transaction) => transaction.apply(observations))
      await clock.sleep(PAUSE_MS, signal)
      signal.throwIfAborted()
    }
  }

  async #addPaths(template: string, key: string, ids: readonly string[], signal: AbortSignal): Promise<void> {
    const { account, clock, db, log } = this.#o
    const paths = ids.map((id) => probeOf(template, template.replaceAll(`{${key}}`, id)))
    for (const step of steps(paths)) {
      const room = MAX_PATHS - (await countPaths(db.read, account, template))
      if (room <= 0) {
        log.warn({ account, template }, `${template} expands to more than ${MAX_PATHS} paths; only the first ${MAX_PATHS} are probed`)
        return
      }
      await db.write('path-add', (tx) => addPaths(tx, account, step.slice(0, room)))
      await clock.sleep(PAUSE_MS, signal)
      signal.throwIfAborted()
    }
  }

  #failed(claim: PathClaim, error: unknown, kind: string): PathEnd {
    const { clock, everyMs } = this.#o
    const failures = claim.failures + 1
    const isTransient = error instanceof UpstreamTransientError
    // Throttling pauses all paths, because discovery has the lowest priority.
    if (kind === 'throttled') this.#pausedUntil = clock.steady() + Math.max(RETRY_BASE_MS, retryAfterOf(error))
    const isExpanded = claim.path !== claim.name
    const refusedMs = isExpanded ? doublingMs(failures, everyMs, everyMs * LONGEST_PROBE_FACTOR) : everyMs
    const dueInMs = isTransient ? doublingMs(claim.failures, RETRY_BASE_MS, everyMs) : refusedMs
    this.#logFailure(claim, messageOf(error), isTransient ? FAILURES_TO_LOG : 1, failures)
    return { outcome: kind, error: messageOf(error), failures, dueInMs }
  }

  #logFailure(claim: PathClaim, reason: string, logAt: number, failures: number): void {
    const { account, clock, everyMs, log } = this.#o
    if (failures !== logAt || clock.steady() < (this.#loggedAt.get(claim.name) ?? Number.NEGATIVE_INFINITY) + everyMs) return
    this.#loggedAt.set(claim.name, clock.steady())
    log.error(
      { account, path: claim.path, template: claim.name },
      `probing ${claim.path} for submissions of account ${account} fails (${reason}). It discovers no submissions; nothing else is affected. ` +
        'Ask the service for the right path, or remove it from accounts[].discovery.paths',
    )
  }
}

function keyIn(path: string): string | null {
  return /\{(\w+)\}/.exec(path)?.[1] ?? null
}

function probeOf(name: string, path: string): NamedPath {
  return { name, submissionId: '', path }
}

function* steps<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < items.length; from += STEP) yield items.slice(from, from + STEP)
}
