import { createHash } from 'node:crypto'

/** A random generator with a seed (algorithm sfc32). */
export class Prng {
  readonly #seed: string
  readonly #state: Uint32Array

  constructor(seed: string) {
    this.#seed = seed
    const hash = createHash('sha256').update(seed).digest()
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => hash.readUInt32LE(at))
  }

  /** @returns a generator that depends only on the seed and `label`. */
  fork(label: string): Prng {
    return new Prng(`${this.#seed}/${label}`)
  }

  /** @returns 32 bytes that depend only on the seed and `label`. */
  bytes(label: string): Buffer {
    return createHash('sha256').update(`${this.#seed}#${label}`).digest()
  }

  /** @returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    return this.#word() / 4_294_967_296
  }

  /** @returns an integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** @throws RangeError if the list is empty. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('nothing to pick from')
    return items[this.int(0, items.length - 1)] as T
  }

  /** @returns up to `count` items in random order. */
  sample<T>(items: readonly T[], count: number): T[] {
    const rest = [...items]
    const chosen: T[] = []
    while (chosen.length < count && rest.length > 0) chosen.push(...rest.splice(this.int(0, rest.length - 1), 1))
    return chosen
  }

  uuid(): string {
    const hex = [this.#word(), this.#word(), this.#word(), this.#word()].map((word) => word.toString(16).padStart(8, '0')).join('')
    const variant = '89ab'[Number.parseInt(hex.charAt(16), 16) % 4]
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
  }

  #word(): number {
    const s = this.#state as Uint32Array & { 0: number; 1: number; 2: number; 3: number }
    const out = (s[0] + s[1] + s[3]) >>> 0
    s[3] = (s[3] + 1) >>> 0
    s[0] = s[1] ^ (s[1] >>> 9)
    s[1] = (s[2] + (s[2] << 3)) >>> 0
    s[2] = (((s[2] << 21) | (s[2] >>> 11)) + out) >>> 0
    return out
  }
}
