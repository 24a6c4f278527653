/** How an account's deliveries usually come: a histogram of the pauses between them. */
export interface Rhythm {
  /** Time of the last delivery, in milliseconds since the epoch; null before the first. */
  readonly lastAtMs: number | null
  /** At index n, how many pauses lasted 2^n to 2^(n+1) seconds; those under two seconds at 0. */
  readonly pauses: readonly number[]
}

export const emptyRhythm: Rhythm = { lastAtMs: null, pauses: [] }

/** Beyond this number all counts are halved, so that older pauses count less. */
const MOST_PAUSES = 500
/** Fewer pauses say nothing. */
const LEAST_PAUSES = 20
const LONGEST = 24
/** The share of pauses that counts as usual. */
const USUAL = 0.95

/** Learns from the times of further deliveries, in milliseconds since the epoch. */
export function learnFrom(rhythm: Rhythm, timesMs: readonly number[]): Rhythm {
  let { lastAtMs } = rhythm
  let pauses = [...rhythm.pauses]
  for (const atMs of timesMs) {
    // A clock that was set back is no pause.
    if (lastAtMs !== null && atMs >= lastAtMs) {
      const place = Math.min(LONGEST, Math.floor(Math.log2(Math.max(1, (atMs - lastAtMs) / 1_000))))
      while (pauses.length <= place) pauses.push(0)
      pauses[place] = (pauses[place] ?? 0) + 1
      if (sum(pauses) > MOST_PAUSES) pauses = pauses.map((n) => Math.floor(n / 2))
    }
    lastAtMs = Math.max(lastAtMs ?? atMs, atMs)
  }
  return { lastAtMs, pauses }
}

/** @returns the pause that 95 % do not exceed, in milliseconds; null when too few are known. */
export function usualPauseMs({ pauses }: Rhythm): number | null {
  const total = sum(pauses)
  if (total < LEAST_PAUSES) return null
  let counted = 0
  const place = pauses.findIndex((n) => {
    counted += n
    return counted >= total * USUAL
  })
  return 2 ** (place + 1) * 1_000
}

/** @param text the pauses as JSON, as they are stored. */
export function rhythmFrom(text: string, lastAtMs: number | null): Rhythm {
  const pauses: unknown = JSON.parse(text)
  return { lastAtMs, pauses: Array.isArray(pauses) ? pauses.map((n) => Number(n) || 0) : [] }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, n) => total + n, 0)
}
