/** Number of durations in each bucket. Bucket i ends at 10^(i/10) ms, 26 % above the end of bucket i-1. */
export type LagCounts = Readonly<Record<string, number>>

const PER_DECADE = 10
/** The last bucket, which ends at 10^9 ms (11 days). Longer durations also count in this bucket. */
const LAST = 90

export function bucketOf(seconds: number): string {
  const ms = Math.max(1, seconds * 1_000)
  return String(Math.min(LAST, Math.ceil(PER_DECADE * Math.log10(ms))))
}

/**
 * @returns the duration in seconds that `share` (0 to 1) of all durations did not exceed; null without data.
 * The duration is interpolated within its bucket.
 */
export function quantile(counts: LagCounts, share: number): number | null {
  const buckets = Object.entries(counts)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket)
  const wanted = share * buckets.reduce((sum, { count }) => sum + count, 0)
  let below = 0
  for (const { bucket, count } of buckets) {
    if (below + count >= wanted && count > 0) return 10 ** ((bucket - 1 + (wanted - below) / count) / PER_DECADE) / 1_000
    below += count
  }
  return null
}
