import { inApplyTransaction } from '../apply/apply.ts'
import { backoffMs } from '../base/clock.ts'
import { DueLoop } from '../base/due-loop.ts'
import { messageOf, retryAfterOf } from '../base/errors.ts'
import { knownIdsIn } from '../model/known-ids.ts'
import type { Observation } from '../model/observations.ts'
import type { Cause } from '../model/records.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { knownSubmissions } from '../store/mirror/submissions.ts'
import { isAccountOpen } from '../store/reads/accounts.ts'
import {
  addExtraReads,
  addPaths,
  claimedPaths,
  claimPath,
  extraReadsOf,
  keepExtraAnswer,
  type PathClaim,
  releasePath,
  settlePath,
  shortenPathWaits,
} from '../store/reads/path-reads.ts'
import { releaseLeft } from '../store/upkeep/dead-processes.ts'
import type { ProbeAnswer } from '../upstream/answer-bodies.ts'
import { AuthRefusedError, TokenNotTakenError, UpstreamTransientError, upstreamClass } from '../upstream/http/errors.ts'
import type { GateOptions } from './account-gate.ts'

const TICK_MS = 2_000
const SCHEDULE_EVERY_MS = 60_000
const STEP = 300
const PAUSE_MS = 20
const RETRY_BASE_MS = 60_000
const MAX_IDS = 1_000

/** A path from the setting `extra_reads`. */
export interface ExtraRead {
  readonly name: string
  /** Path below the base URL. `{submission_id}` is replaced by the id of each submission. */
  readonly path: string
  readonly everyMs: number
}

export interface ExtraReadsOptions extends GateOptions {
  readonly reads: readonly ExtraRead[]
}

/**
 * Reads the paths from the settings, one after another, with the lowest priority. Stores the last answer of each path,
 * which may be any JSON. A failure affects neither the submission nor the account.
 */
export class ExtraReads extends DueLoop<PathClaim> {
  readonly #o: ExtraReadsOptions
  #scheduleAt = Number.NEGATIVE_INFINITY
  /** If the service throttles an extra read, all extra reads wait until this time (trap 49). */
  #pausedUntil = Number.NEGATIVE_INFINITY
  /** Names of failing reads whose failure is already logged. A success removes the name. */
  readonly #logged = new Set<string>()

  constructor(options: ExtraReadsOptions) {
    super(`extra reads of ${options.account}`, options.log)
    this.#o = options
  }

  protected override async begin(): Promise<void> {
    const { db, account, reads } = this.#o
    await releaseLeft(db, claimedPaths, { account })
    await db.write('path-add', async (tx) => {
      await addPaths(tx, account, extraReadsOf(namesOf(reads, false), ['']))
      for (const { name, everyMs } of reads) await shortenPathWaits(tx, account, [name], everyMs)
    })
  }

  protected override async claim(signal: AbortSignal): Promise<readonly PathClaim[]> {
    const { db, account, client, clock, reads } = this.#o
    await this.#schedule(signal)
    if (clock.steady() < this.#pausedUntil || client.waitMs() > 0 || !(await isAccountOpen(db.read, account))) return []
    const claim = await claimPath(db, { account, names: namesOf(reads) }, LONGEST_LEASE_MS)
    return claim === null ? [] : [claim]
  }

  async #schedule(signal: AbortSignal): Promise<void> {
    const { db, account, clock, reads } = this.#o
    const names = namesOf(reads, true)
    if (names.length === 0 || clock.steady() < this.#scheduleAt) return
    this.#scheduleAt = clock.steady() + SCHEDULE_EVERY_MS
    for (let after: string | null = ''; after !== null && !signal.aborted; await clock.sleep(PAUSE_MS, signal))
      after = await addExtraReads(db, account, names, after, STEP)
  }

  protected override async carryOut(claim: PathClaim, signal: AbortSignal): Promise<void> {
    const failure = await carryOutExtraRead(this.#o, claim, 'poll', signal)
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#o.clock.steady() + (failure?.pauseMs ?? 0))
    this.#logFailure(claim, failure?.reason ?? null)
  }

  protected override async release(claim: PathClaim): Promise<void> {
    await releasePath(this.#o.db, claim)
  }

  protected override async rest(signal: AbortSignal): Promise<void> {
    await this.#o.clock.sleep(TICK_MS, signal)
  }

  #logFailure({ name }: PathClaim, error: string | null): void {
    const { account, log } = this.#o
    if (error === null) this.#logged.delete(name)
    else if (!this.#logged.has(name)) {
      this.#logged.add(name)
      log.warn(
        { account, name },
        `the extra read ${name} of account ${account} fails (${error}) and is tried again; nothing else is affected. Ask the service for the right path, or ` +
          'remove it from accounts[].extra_reads',
      )
    }
  }
}

export interface ExtraReadFailure {
  readonly reason: string
  readonly pauseMs: number
}

/**
 * Runs one claimed extra read and schedules the next read.
 * @returns why the read failed, and the pause that the service requested; null on success.
 * @throws LeaseLostError if another process has the read; database errors; the abort reason of `signal`.
 */
export async function carryOutExtraRead(
  o: ExtraReadsOptions,
  claim: PathClaim,
  cause: Cause,
  signal: AbortSignal,
): Promise<ExtraReadFailure | null> {
  const { account, client, observer } = o
  try {
    const answer = await client.probe(pathOf(o, claim), signal)
    await keep(o, claim, cause, answer)
    observer.count('feed_reads_total', { account, read: 'extra', outcome: 'read' })
    return null
  } catch (error) {
    const kind = upstreamClass(error)
    if (kind === null || signal.aborted) throw error
    observer.count('feed_reads_total', { account, read: 'extra', outcome: kind })
    return { reason: await fail(o, claim, error, kind), pauseMs: retryAfterOf(error) }
  }
}

async function keep(o: ExtraReadsOptions, claim: PathClaim, cause: Cause, answer: ProbeAnswer): Promise<void> {
  const { account, db, observer } = o
  const ids = knownIdsIn(answer.json, claim.submissionId).slice(0, MAX_IDS)
  const known = await knownSubmissions(
    db.read,
    ids.map(({ submissionId }) => ({ account, submission_id: submissionId })),
  )
  const via = `extra:${claim.name}`
  const observations = ids
    .filter(({ submissionId }) => submissionId === '' || known.has(`${account} ${submissionId}`))
    .map((id): Observation => ({ kind: 'named', account, submissionId: id.submissionId, cause, ids: [id], via }))
  const dueInMs = everyOf(o, claim) * (1 - 0.1 * o.clock.random())
  await inApplyTransaction(db, observer, 'extra-read', async ({ tx, apply }) => {
    await apply(observations)
    await keepExtraAnswer(tx, claim, answer.text, dueInMs)
  })
}

async function fail(o: ExtraReadsOptions, claim: PathClaim, error: unknown, outcome: string): Promise<string> {
  const everyMs = everyOf(o, claim)
  const reason = messageOf(error).slice(0, 500)
  // A refusal of the account doesn't count as a failure of this path. The account's poller handles the refusal.
  const isOfAccount = error instanceof AuthRefusedError
  const failures = isOfAccount ? claim.failures : claim.failures + 1
  const isTransient = isOfAccount || error instanceof TokenNotTakenError || error instanceof UpstreamTransientError
  const soonMs = Math.min(everyMs, backoffMs(o.clock, failures + 1, RETRY_BASE_MS, everyMs))
  const dueInMs = isTransient ? Math.max(soonMs, retryAfterOf(error)) : everyMs
  await o.db.write('path-settle', (tx) => settlePath(tx, claim, { outcome, error: reason, failures, dueInMs }))
  return reason
}

function pathOf({ reads }: ExtraReadsOptions, { name, submissionId }: PathClaim): string {
  return reads.find((read) => read.name === name)?.path.replaceAll('{submission_id}', submissionId) ?? ''
}

function everyOf({ reads }: ExtraReadsOptions, { name }: PathClaim): number {
  return reads.find((read) => read.name === name)?.everyMs ?? RETRY_BASE_MS
}

/** @param ofSubmissions true: only paths with `{submission_id}`; false: only other paths; undefined: all. */
export function namesOf(reads: readonly ExtraRead[], ofSubmissions?: boolean): string[] {
  return reads
    .filter(({ path }) => ofSubmissions === undefined || path.includes('{submission_id}') === ofSubmissions)
    .map(({ name }) => name)
}
