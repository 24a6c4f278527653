import { Prng } from '../../src/sandbox/world/prng.ts'

/** How often each thing goes wrong, and how often it does not. */
export type Share<T extends string> = Readonly<Record<T, number>>

/** @returns what is in `share`, mixed: the same for the same seed. */
export function mixed<T extends string>(seed: string, share: Share<T>): T[] {
  const all = (Object.keys(share) as T[]).flatMap((fault) => Array<T>(share[fault]).fill(fault))
  return new Prng(seed).sample(all, all.length)
}
