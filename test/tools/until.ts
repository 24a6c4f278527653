import { systemClock } from '../../src/base/clock.ts'

/** A little less than a test may take, so that it fails with what it waited for. How fast the machine is makes no difference. */
export const PATIENCE_MS = 150_000
const LOOK_MS = 10

/**
 * For what no signal tells: looks again and again until there is something to see. @returns that.
 * @param what is awaited, in words, for whoever reads why a test failed.
 */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<NonNullable<Exclude<T, false>>> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    const seen = await look()
    if (seen) return seen as NonNullable<Exclude<T, false>>
    if (performance.now() > end) throw new Error(`it never came to this: ${what}`)
    await systemClock.sleep(LOOK_MS)
  }
}
