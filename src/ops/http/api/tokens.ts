import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../../config/config.ts'
import type { Role } from '../../../config/schema/roles.ts'
import type { TimeText } from '../../../model/time.ts'

type Tokens = Config['ops']['tokens']

/** Owner of a token or session. */
export interface Holder {
  readonly name: string
  readonly role: Role
  /** `idleEndsAt`: end of the session without further requests. */
  readonly session?: { readonly endsAt: TimeText; readonly idleEndsAt: TimeText }
}

/** Finds the token of a request. Always compares all hashes, so that timing reveals nothing. */
export class TokenVerifier {
  #known: Tokens = []
  #hashes: readonly (Holder & { readonly hash: Buffer })[] = []

  /** @param tokens rehashed only when changed. @param header `Authorization`. @returns null for a missing or wrong token. */
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

  /** Like `holderOf` for a pasted token: with white space, or as `name:token[:role]`. */
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
