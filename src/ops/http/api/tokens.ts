import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../../config/config.ts'
import type { Role } from '../../../config/schema/roles.ts'
import type { TimeText } from '../../../model/time.ts'

type Tokens = Config['ops']['tokens']

/** The token or person that sent a request. */
export interface Holder {
  readonly name: string
  readonly role: Role
  /** Only for sessions. `idleEndsAt` is the end of the session if no further request arrives. */
  readonly session?: { readonly endsAt: TimeText; readonly idleEndsAt: TimeText }
}

/** Finds the token of a request. Always compares all hashes, so that the response time reveals nothing about tokens. */
export class TokenVerifier {
  #known: Tokens = []
  #hashes: readonly (Holder & { readonly hash: Buffer })[] = []

  /**
   * @param tokens configured tokens. If `tokens` is the same object as in the last call, reuses the computed hashes.
   * @param header value of the `Authorization` header.
   * @returns the token's name and role; null for a missing or wrong token.
   */
  holderOf(tokens: Tokens, header: string | undefined): Holder | null {
    if (tokens !== this.#known) {
      this.#hashes = tokens.map(({ name, token, role }) => ({ name, role, hash: hashOf(token.reveal()) }))
      this.#known = tokens
    }
    const given = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1]
    if (given === undefined) return null
    const hash = hashOf(given)
    let found: Holder | null = null
    for (const each of this.#hashes) if (timingSafeEqual(each.hash, hash)) found = { name: each.name, role: each.role }
    return found
  }

  /** Like `holderOf`, for a token that a person pasted. Accepts white space, and the form `name:token[:role]`. */
  holderOfPasted(tokens: Tokens, text: string): Holder | null {
    const pasted = text.replace(/\s+/g, '')
    const holder = this.holderOf(tokens, `Bearer ${pasted}`)
    if (holder !== null) return holder
    const [, name, token] = /^([^:]+):(.+?)(?::(?:viewer|operator|admin))?$/.exec(pasted) ?? []
    const named = this.holderOf(tokens, `Bearer ${token}`)
    return named?.name === name ? named : null
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
