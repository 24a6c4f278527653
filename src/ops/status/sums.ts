import type { TimeText } from '../../model/time.ts'
import { sumUp } from '../../store/completeness/sum-up.ts'
import type { Query } from '../../store/engine/db.ts'
import { type AccountSums, isLittle, type KeptSums, keptSums, noSums } from '../../store/upkeep/kept-sums.ts'
import { ConflictError } from '../output/refusals.ts'

/** What sums up everything. */
export interface SummedUp {
  readonly of: (account: string) => AccountSums
  /** As it was kept; undefined: it was counted now; null: nothing is known. */
  readonly kept: KeptSums | undefined | null
  /** null: now. */
  readonly countedAt: TimeText | null
}

/**
 * The sums over accounts: for the terminal, and while there is little, counted now. Else a request gets what was kept within the last minutes: so
 * many people may look at a large mirror at once.
 * @throws ConflictError when nothing was kept yet.
 */
export async function summedUp(q: Query, accounts: readonly string[], isTerminal: boolean): Promise<SummedUp> {
  if (isTerminal || (await isLittle(q))) {
    const sums = await sumUp(q, accounts)
    return { of: (account) => sums[account] ?? noSums, kept: undefined, countedAt: null }
  }
  const last = await lastSums(q)
  if (last.kept === null)
    throw new ConflictError([
      'this is counted once a minute while `serve` runs, and was not counted yet; ask again in a minute, or use `submission-mirror status`, which counts at once',
    ])
  return last
}

export const nothingCounted: SummedUp = { of: () => noSums, kept: null, countedAt: null }

/** What was counted last. */
export async function lastSums(q: Query): Promise<SummedUp> {
  const kept = await keptSums(q)
  return kept === null ? nothingCounted : { of: (account) => kept.sums[account] ?? noSums, kept, countedAt: kept.countedAt }
}

/** Counts of submissions for `judgeNow`: undefined while there is little, which is counted then; null when nothing was kept yet. */
export async function sumsForVerdict(q: Query): Promise<KeptSums | null | undefined> {
  return (await isLittle(q)) ? undefined : await keptSums(q)
}
