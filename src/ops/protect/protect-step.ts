import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { repeat, type Service } from '../../base/service.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { Db } from '../../store/engine/db.ts'
import {
  lastProtect,
  PROTECT_BEGIN,
  PROTECT_TASK,
  type ProtectProgress,
  protectedNames,
  protectNext,
  saveProgress,
} from '../../store/upkeep/protect.ts'
import { claimUpkeep, endUpkeep, type UpkeepLease } from '../../store/upkeep/upkeep.ts'
import { Pace } from '../retention/pace.ts'

/** Delay in ms after the start, so that other work runs first. */
const AFTER_START_MS = 2_000
/** Interval in ms of checking for changed settings, or for a run that another process left unfinished. */
const LOOK_MS = 60_000
/** Lease in ms. Each write renews the lease, and a write happens at least every `SAVE_MS`. */
const LEASE_MS = 120_000
const SAVE_MS = 10_000
/** Every run has this slot (see `UpkeepSlot`). The task is due when its settings change, not at a certain time. */
const SLOT = '0'

export interface ProtectStepParts {
  readonly db: Db
  readonly clock: Clock
}

/**
 * Converts rows whose tax ids were stored under other settings of `PROTECT`.
 * Uses short transactions, so other work can run at the same time.
 * Resumes after an interruption. Starts again from the beginning when the settings change.
 */
export class ProtectStep implements Service {
  readonly name = 'protect'
  readonly #o: ProtectStepParts & { readonly log: Log }

  constructor(options: ProtectStepParts & { readonly log: Log }) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#o
    await repeat(clock, signal, AFTER_START_MS, async () => {
      const result = await protectStored(this.#o, signal)
      if (typeof result === 'object') log.info({ ...result }, `tax ids: ${result.rewritten} stored rows rewritten to match PROTECT`)
      return LOOK_MS
    })
  }
}

/**
 * Rewrites all stored rows that don't match the settings of `PROTECT`.
 * @param onProgress called after each table.
 * @returns the number of rewritten rows. `done` if an earlier run has rewritten all rows.
 * `held` if another process is rewriting the rows. `stopped` after an abort; the next call then resumes.
 * @throws LeaseLostError if another process has taken over.
 */
export async function protectStored(
  { db, clock }: ProtectStepParts,
  signal: AbortSignal,
  onProgress: (progress: ProtectProgress) => void = () => undefined,
): Promise<{ readonly rewritten: number } | 'done' | 'held' | 'stopped'> {
  const settings = settingsText(db.protection)
  const before = await lastProtect(db.read)
  const lease = await claimUpkeep(db, PROTECT_TASK, { slot: SLOT, settings }, LEASE_MS)
  if (lease === 'done' || lease === 'held') return lease
  const continues = before !== null && before.settings === settings && before.endedAt === null
  const at = await walk({ db, clock }, lease, continues ? before.progress : PROTECT_BEGIN, signal, onProgress)
  if (at.table < protectedNames.length) return 'stopped'
  await endUpkeep(db, lease, JSON.stringify(at))
  return { rewritten: at.rewritten }
}

async function walk(
  { db, clock }: ProtectStepParts,
  lease: UpkeepLease,
  from: ProtectProgress,
  signal: AbortSignal,
  onProgress: (progress: ProtectProgress) => void,
): Promise<ProtectProgress> {
  const pace = new Pace(db.kind)
  let at = from
  let savedAt = Number.NEGATIVE_INFINITY
  while (at.table < protectedNames.length && !signal.aborted) {
    const startedAt = performance.now()
    const next = await protectNext(db, lease, at, Math.min(pace.rows, 200))
    const ms = performance.now() - startedAt
    pace.record(ms)
    if (next.rewritten > at.rewritten) savedAt = performance.now()
    else if (performance.now() - savedAt > SAVE_MS) {
      await save(db, lease, next)
      savedAt = performance.now()
    }
    if (next.table > at.table) onProgress(next)
    else await clock.sleep(Math.min(50, Math.max(5, ms)), signal)
    at = next
  }
  if (signal.aborted && at.table < protectedNames.length) await save(db, { ...lease, leaseMs: 0 }, at)
  return at
}

function save(db: Db, lease: UpkeepLease, at: ProtectProgress): Promise<void> {
  return db.write('protect', (tx) => saveProgress(tx, lease, at))
}

/** @returns a text about the settings. If the text changes, stored rows must be checked again. Reveals no keys. */
export function settingsText(protection: Protection): string {
  const { mode, keyId, rule } = protection
  const about = JSON.stringify([mode, keyId, rule, protectedNames])
  return `${mode} ${createHash('sha256').update(about).digest('hex').slice(0, 16)}`
}
