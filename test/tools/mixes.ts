import { mixOf, type UnshownInput } from '../../src/sandbox/service/unshown.ts'

/** Variants of the service that the product doesn't handle yet. Fixing one deletes its line. */
export const unhandled: Readonly<Record<string, readonly (string | number)[]>> = {
  nulls: ['absent'],
}

/** @returns a random mix of the variants that the product handles. The same seed gives the same mix. */
export function mixFor(seed: number | string): UnshownInput {
  return Object.fromEntries(Object.entries(mixOf(String(seed))).filter(([name, value]) => !unhandled[name]?.includes(value)))
}
