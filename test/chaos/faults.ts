import { Prng } from '../../src/sandbox/world/prng.ts'

export type Share<T extends string> = Readonly<Record<T, number>>

/** @returns the entries of `share`, shuffled by the seed. */
export function mixed<T extends string>(seed: string, share: Share<T>): T[] {
  const all = (Object.keys(share) as T[]).flatMap((fault) => Array<T>(share[fault]).fill(fault))
  return new Prng(seed).sample(all, all.length)
}
