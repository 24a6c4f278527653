import type { TimeText } from '../../model/time.ts'
import { accountTotals } from '../../store/completeness/account-totals.ts'
import type { Query } from '../../store/engine/db.ts'
import { type AccountTotals, type CachedTotals, cachedTotals, isSmallMirror, noTotals } from '../../store/upkeep/cached-totals.ts'
import { ConflictError } from '../output/refusals.ts'

export interface SummedUp {
  readonly of: (account: string) => AccountTotals
  /** The stored totals. undefined: the totals were counted now. null: no totals are known. */
  readonly kept: CachedTotals | undefined | null
  /** Time of the stored totals; null if the totals were counted now, or are unknown. */
  readonly countedAt: TimeText | null
}

/**
 * @returns totals of accounts. At the terminal, and for a small mirror, counts the totals now.
 * Otherwise returns the stored totals of `SumKeeper`, because counting a large mirror for each request is too slow.
 * @throws ConflictError if the stored totals are needed but don't exist yet.
 */
export async function summedUp(q: Query, accounts: readonly string[], isTerminal: boolean): Promise<SummedUp> {
  if (isTerminal || (await isSmallMirror(q))) {
    const sums = await accountTotals(q, accounts)
    return { of: (account) => sums[account] ?? noTotals, kept: undefined, countedAt: null }
  }
  const last = await lastSums(q)
  if (last.kept === null)
    throw new ConflictError([
      '`serve` counts this once a minute, but has not counted it yet; try again in a minute, or use `submission-mirror status`, which counts immediately',
    ])
  return last
}

export const nothingCounted: SummedUp = { of: () => noTotals, kept: null, countedAt: null }

export async function lastSums(q: Query): Promise<SummedUp> {
  const kept = await cachedTotals(q)
  return kept === null ? nothingCounted : { of: (account) => kept.sums[account] ?? noTotals, kept, countedAt: kept.countedAt }
}

/**
 * @returns the stored counts of submissions for `judgeNow`; null if none are stored yet.
 * Returns undefined for a small mirror, which `judgeNow` counts itself.
 */
export async function sumsForVerdict(q: Query): Promise<CachedTotals | null | undefined> {
  return (await isSmallMirror(q)) ? undefined : await cachedTotals(q)
}
