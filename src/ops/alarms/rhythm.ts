/** How an account's deliveries usually come: how often each length of pause between two of them was met. */
export interface Rhythm {
  /** When the last delivery came, in milliseconds since the epoch; null before the first. */
  readonly lastAtMs: number | null
  /** How many pauses were met of 2^n up to 2^(n+1) seconds, at the place n; those under two seconds at 0. */
  readonly pauses: readonly number[]
}

export const emptyRhythm: Rhythm = { lastAtMs: null, pauses: [] }

/** Of more pauses than that the older ones count half: what is usual follows what changes. */
const MOST_PAUSES = 500
/** From fewer nothing is concluded. */
const LEAST_PAUSES = 20
const LONGEST = 24
/** The share of pauses that is usual. */
const USUAL = 0.95

/** Learns from the times of further deliveries, in milliseconds since the epoch. */
export function learnFrom(rhythm: Rhythm, timesMs: readonly number[]): Rhythm {
  let { lastAtMs } = rhythm
  let pauses = [...rhythm.pauses]
  for (const atMs of timesMs) {
    // A clock that was set back made no pause.
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

/** @returns the pause that nineteen of twenty do not exceed, in milliseconds; null when too few are known. */
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

/** @returns the rhythm that `text` holds; an unknown one for anything else. */
export function rhythmFrom(text: string, lastAtMs: number | null): Rhythm {
  const pauses: unknown = JSON.parse(text)
  return { lastAtMs, pauses: Array.isArray(pauses) ? pauses.map((n) => Number(n) || 0) : [] }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, n) => total + n, 0)
}
