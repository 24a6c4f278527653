/** Every claimed read must start within this time, well before its lease ends. */
const TURN_WITHIN_S = 30

/**
 * @returns the number of reads to claim at `rate` requests per second, at most `most`. Further reads would lose their leases while waiting.
 */
export function slotsAt(rate: number, most: number): number {
  return Math.min(most, Math.ceil(rate * TURN_WITHIN_S))
}
