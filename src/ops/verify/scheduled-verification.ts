import { LeaseLostError, messageOf } from '../../base/errors.ts'
import { repeat, type Service } from '../../base/service.ts'
import type { HttpDestination } from '../../config/config.ts'
import { shownOutcome } from '../../model/masking.ts'
import type { VerificationReport } from '../../push/verify/verification.ts'
import { type CronSchedule, lastSlot } from '../../reconcile/run/schedule.ts'
import { foundSince } from '../../store/outbox/verifications.ts'
import { lastUpkeep, renewUpkeep, runUpkeep, type UpkeepLease } from '../../store/upkeep/upkeep.ts'
import { presenceText } from '../output/words.ts'
import { type VerifyParts, verifyDestination } from './verify-destination.ts'

export interface ScheduledVerificationOptions extends Omit<VerifyParts, 'signal'> {
  readonly destination: HttpDestination
  /** Number of changes to verify per run; null for all. */
  readonly sample: number | null
  readonly schedule: CronSchedule
}

/** Delay in ms after the start, so that other work runs first. */
const AFTER_START_MS = 5_000
const LOOK_MS = 15_000
/** Delay in ms before a retry. After a failure, a person must usually act first. */
const RETRY_MS = 900_000
/** Lease of a run in ms. Storing answers renews the lease. */
const LEASE_MS = 120_000

/**
 * Verifies a destination on schedule, in one process.
 * If that process dies, another process continues after the last stored answer. A random sample starts again.
 * If a scheduled time was missed, the run starts soon after the program starts.
 */
export class ScheduledVerification implements Service {
  readonly name: string
  readonly #o: ScheduledVerificationOptions

  constructor(options: ScheduledVerificationOptions) {
    this.#o = options
    this.name = `verification ${options.destination.name}`
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeat(this.#o.clock, signal, AFTER_START_MS, async () => ((await this.runIfDue(signal)) === 'failed' ? RETRY_MS : LOOK_MS))
  }

  /** Runs the due verification. Does nothing if the verification is done, or if another process runs it. */
  async runIfDue(signal: AbortSignal): Promise<'done' | 'ran' | 'held' | 'stopped' | 'failed'> {
    const { db, clock, log, schedule, sample, destination } = this.#o
    const turn = { slot: lastSlot(schedule, clock.now()), settings: `${schedule.cron} ${sample ?? 'all'}` }
    try {
      return await runUpkeep(db, taskOf(destination.name), turn, LEASE_MS, async (lease) => {
        const report = await this.#verify(lease, signal)
        const text = `destination ${destination.name} ${presenceText(report)}`
        if (!report.isWhole) throw new Error(`${text}; the rest could not be verified`)
        const level = report.lacks + report.undetermined > 0 ? 'warn' : 'info'
        log[level]({ destination: destination.name }, `verification: ${text}${whyOf(report)}`)
        return text
      })
    } catch (error) {
      if (signal.aborted) return 'stopped'
      // Answers came so slowly that the lease expired and another process took over.
      if (error instanceof LeaseLostError) return 'held'
      const text = `the verification of destination ${destination.name} failed: ${messageOf(error)}`
      log.warn({ destination: destination.name, err: error }, text)
      return 'failed'
    }
  }

  async #verify(lease: UpkeepLease, signal: AbortSignal): Promise<VerificationReport> {
    const { db, sample, destination } = this.#o
    const began = (await lastUpkeep(db.read, lease.task))?.began_at ?? null
    const isResumed = sample === null && lease.position > 0 && began !== null
    const continues = isResumed ? { after: lease.position, found: await foundSince(db.read, destination.name, began) } : undefined
    return await verifyDestination({ ...this.#o, signal }, destination, {
      selection: {},
      sample,
      repair: false,
      onStored: (tx, outboxId) => renewUpkeep(tx, lease, sample === null ? outboxId : 0),
      ...(continues && { continues }),
    })
  }
}

function taskOf(destination: string): string {
  return `verify ${destination}`
}

/** @returns the error of the first change with an error, in parentheses; an empty text if no change has an error. */
function whyOf({ changes }: VerificationReport): string {
  const failed = changes.find(({ error }) => error !== null)
  return failed === undefined || failed.error === null ? '' : ` (${shownOutcome(failed.error, failed.status)})`
}
