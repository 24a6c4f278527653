import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../../config/config.ts'

type Tokens = Config['ops']['tokens']

/** Finds the token of a request. Compares hashes, always all of them, so that the time taken reveals nothing. */
export class TokenVerifier {
  #known: Tokens = []
  #hashes: readonly { readonly name: string; readonly hash: Buffer }[] = []

  /**
   * @param tokens of the present settings; hashed again only when they changed.
   * @param header the request's `Authorization`.
   * @returns the name of the token; null for none or a wrong one.
   */
  nameOf(tokens: Tokens, header: string | undefined): string | null {
    if (tokens !== this.#known) {
      this.#hashes = tokens.map(({ name, token }) => ({ name, hash: hashOf(token.reveal()) }))
      this.#known = tokens
    }
    const given = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1]
    if (given === undefined) return null
    const hash = hashOf(given)
    let found: string | null = null
    for (const each of this.#hashes) if (timingSafeEqual(each.hash, hash)) found = each.name
    return found
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
