/** At the allowed rate, every claimed read starts within this time, well before its lease ends. */
const TURN_WITHIN_S = 30

/**
 * @returns how many reads to have claimed at `rate` requests a second, at most `most`. With more, reads would wait for their turn until their
 * leases end, and their work would be lost.
 */
export function slotsAt(rate: number, most: number): number {
  return Math.min(most, Math.ceil(rate * TURN_WITHIN_S))
}
