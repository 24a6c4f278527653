import { inApplyTransaction } from '../../apply/apply.ts'
import { backoffMs, type Clock } from '../../base/clock.ts'
import { DueLoop } from '../../base/due-loop.ts'
import { messageOf, PermanentError, retryAfterOf } from '../../base/errors.ts'
import type { DocumentObservation } from '../../model/observations.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { isAccountOpen } from '../../store/reads/accounts.ts'
import {
  claimedFetches,
  claimFetches,
  type FetchClaim,
  type FetchSettlement,
  isFetchDue,
  LONGEST_FETCH_WAIT_MS,
  releaseFetch,
  requestFailed,
  requestRefused,
  settleFetch,
} from '../../store/reads/fetches.ts'
import { releaseLeft } from '../../store/upkeep/dead-processes.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { type Elsewhere, RefusedLinkError, UnlistedHostError, unlistedHostText } from '../../upstream/http/elsewhere.ts'
import { AuthRefusedError, upstreamClass } from '../../upstream/http/errors.ts'
import { type DocumentStorage, StorageUnavailable, type StoredDocument, TooLongDocument } from '../storage/storage.ts'
import { download } from './download.ts'
import type { Space } from './space.ts'

/** Maximum time in ms between checks for due documents. */
const TICK_MS = 1_000
/** Maximum number of fetches that run at the same time. */
const AT_ONCE = 2
/**
 * If the service rejects the account, a document is retried after this many ms. If reads are rejected too, the
 * account's poller suspends the account.
 */
const REFUSED_WAIT_MS = 60_000
const ERROR_LENGTH = 500

export interface FetcherOptions extends ServiceParts {
  readonly account: string
  readonly baseUrl: string
  readonly client: UpstreamClient
  readonly elsewhere: Elsewhere
  readonly storage: DocumentStorage
  readonly space: Space
  readonly maxBytes: number
  readonly hosts: readonly string[]
}

/**
 * Fetches the documents of one account, with retries. A file is durably stored before its row, so that a crash never
 * leaves a row without its file. A sweep later removes files without a row. Other reads of the account have priority.
 * Claims no document while the account is stopped, while the service is down, or while the storage is
 * unavailable or full.
 */
export class DocumentFetcher extends DueLoop<FetchClaim> {
  readonly #o: FetcherOptions
  /** No document is claimed before this time, in ms of the steady clock. */
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor(options: FetcherOptions) {
    super(`documents of ${options.account}`, options.log)
    this.#o = options
  }

  protected override async begin(): Promise<void> {
    const { db, account, maxBytes, hosts } = this.#o
    await releaseLeft(db, claimedFetches, { account })
    await db.write('document-release', async (tx) => {
      // Retry fetches that failed because of earlier settings: a smaller size limit, or an unlisted host.
      await requestRefused(tx, account, maxBytes)
      await requestFailed(tx, account, hosts.map(unlistedHostText))
    })
  }

  protected override async claim(): Promise<readonly FetchClaim[]> {
    const { db, account, client, clock, space } = this.#o
    if (clock.steady() < this.#pausedUntil || client.waitMs() > 0 || !(await isFetchDue(db.read, account))) return []
    if (!(await isAccountOpen(db.read, account)) || (await space.isFull())) return []
    return await claimFetches(db, account, AT_ONCE)
  }

  protected override async release(claim: FetchClaim): Promise<void> {
    await releaseFetch(this.#o.db, claim)
  }

  protected override async rest(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#o
    await db.signals.wait('reads', TICK_MS, signal)
    await clock.sleep(0, signal)
  }

  protected override async carryOut(claim: FetchClaim, signal: AbortSignal): Promise<void> {
    const { observer, account, storage } = this.#o
    let stored: StoredDocument
    try {
      stored = await download(this.#o, claim.document, signal)
    } catch (error) {
      signal.throwIfAborted()
      return error instanceof StorageUnavailable ? await this.#pause(claim, error) : await this.#settleFailure(claim, error)
    }
    await this.#settleStored(claim, stored)
    observer.count('documents_total', { account, outcome: 'stored' })
    // A purge may have removed the file while the document's row was written. If so, record the file as lost.
    if ((await storage.size(stored.path)) !== stored.bytes) await this.#noteLost(claim)
  }

  async #settleStored(claim: FetchClaim, stored: StoredDocument): Promise<void> {
    const { db, observer, space } = this.#o
    await inApplyTransaction(db, observer, 'document-store', async ({ tx, apply }) => {
      await apply([{ ...this.#factOf(claim), stored, error: null }])
      await settleFetch(tx, claim, { dueInMs: null, failures: 0 })
      tx.afterCommit(() => space.add(stored.bytes))
    })
  }

  async #settleFailure(claim: FetchClaim, failure: unknown): Promise<void> {
    const { db, observer, clock, account, log, maxBytes } = this.#o
    // If the service rejects the account, the document isn't the cause, so don't record a failure.
    if (failure instanceof AuthRefusedError) return await releaseFetch(db, claim, REFUSED_WAIT_MS)
    const throttledMs = upstreamClass(failure) === 'throttled' ? retryAfterOf(failure) : 0
    if (throttledMs > 0) this.#pausedUntil = clock.steady() + throttledMs
    const plan = planRetry(claim, failure, maxBytes, clock)
    const error = `${messageOf(failure).slice(0, ERROR_LENGTH)}${plan.next}`
    await inApplyTransaction(db, observer, 'document-failed', async ({ tx, apply }) => {
      await apply([{ ...this.#factOf(claim), stored: null, error }])
      await settleFetch(tx, claim, plan)
    })
    observer.count('documents_total', { account, outcome: 'failed' })
    const next = plan.dueInMs === null ? 'is not fetched again' : `will be fetched again in ${Math.ceil(plan.dueInMs / 1000)} s`
    const about = { account, submission: claim.document.submission_id, document: claim.document.document_key }
    log.debug(about, `document ${claim.document.document_key} could not be fetched (${error}) and ${next}`)
  }

  async #noteLost(claim: FetchClaim): Promise<void> {
    const { db, observer } = this.#o
    const observation: DocumentObservation = {
      ...this.#factOf(claim),
      stored: null,
      error: 'its file was removed while it was recorded; it is fetched again automatically',
      isLost: true,
    }
    await inApplyTransaction(db, observer, 'document-failed', ({ apply }) => apply([observation]))
  }

  async #pause(claim: FetchClaim, error: StorageUnavailable): Promise<void> {
    const { db, log, clock, account } = this.#o
    await releaseFetch(db, claim)
    if (clock.steady() < this.#pausedUntil) return
    this.#pausedUntil = clock.steady() + STORAGE_PAUSE_MS
    log.warn({ account }, `documents wait ${STORAGE_PAUSE_MS / 1000} s and are then fetched again: ${messageOf(error)}`)
  }

  #factOf({ account, document }: FetchClaim): Omit<DocumentObservation, 'stored' | 'error'> {
    const triedAt = timeFromMs(this.#o.clock.now())
    const submissionId = document.submission_id ?? ''
    return { kind: 'document', account, submissionId, cause: 'poll', documentKey: document.document_key, triedAt }
  }
}

const FIRST_WAIT_MS = 30_000
/** A document that keeps failing is retried for this many days (trap 54). */
const RETRY_DAYS = 14
const RETRY_MS = RETRY_DAYS * 86_400_000
/** After the storage was unavailable, no document is claimed for this many ms. */
const STORAGE_PAUSE_MS = 60_000

/** When to retry a failed document. */
interface RetryPlan extends FetchSettlement {
  /** Appended to the error. Says whether the document is fetched again; empty if the error itself says what to do. */
  readonly next: string
}

const ASK = 'ask the service for the document'

/**
 * Plans when to retry a failed document. Nearly every failure is retried, because the specification doesn't call any
 * failure permanent. If a setting caused the failure, the document is retried only after that setting changes.
 */
function planRetry(claim: FetchClaim, failure: unknown, maxBytes: number, clock: Clock): RetryPlan {
  const failures = claim.failures + 1
  if (failure instanceof TooLongDocument) return { dueInMs: null, failures, refusedOverBytes: maxBytes, next: '' }
  if (failure instanceof UnlistedHostError) return { dueInMs: null, failures, next: '' }
  const isRefused = failure instanceof RefusedLinkError || (failure instanceof Error && failure.constructor === PermanentError)
  if (isRefused) return { dueInMs: null, failures, next: `; it is not fetched again: ${ASK}` }
  const since = claim.failingSince === null ? clock.now() : msFromTime(claim.failingSince)
  if (clock.now() - since > RETRY_MS) return { dueInMs: null, failures, next: `; fetching ended after ${RETRY_DAYS} days: ${ASK}` }
  const waitMs = Math.max(retryAfterOf(failure), backoffMs(clock, failures, FIRST_WAIT_MS, LONGEST_FETCH_WAIT_MS))
  return { dueInMs: Math.min(waitMs, LONGEST_FETCH_WAIT_MS), failures, next: '; it is fetched again automatically' }
}
