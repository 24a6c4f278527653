/** A claimed read must start within this time. Otherwise its lease could end before the read is done. */
const TURN_WITHIN_S = 30

/**
 * @returns how many reads to claim at `rate` requests per second, at most `most`. More reads would lose their leases
 * while they wait.
 */
export function slotsAt(rate: number, most: number): number {
  return Math.min(most, Math.ceil(rate * TURN_WITHIN_S))
}
