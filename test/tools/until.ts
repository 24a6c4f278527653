import { systemClock } from '../../src/base/clock.ts'

/** A little less than a test's time limit, so that it fails with what it waited for. */
export const PATIENCE_MS = 150_000
const LOOK_MS = 10

/** Polls for changes without a signal until `look` returns something. @returns it. @param what is awaited, in words, for the error. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const seen = await look()
    if (seen) return seen as NonNullable<Exclude<T, false>>
    if (performance.now() > end) throw new Error(`it never came to this: ${what}`)
    await systemClock.sleep(LOOK_MS)
  }
}
