import { sql } from 'kysely'
import type { CipherPlace } from '../../model/protection/cipher.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'

/** The tokens that the last token request for a destination returned. */
export interface HeldTokens {
  /** Value of the authorization header. */
  readonly token: string
  /** Expiry in epoch ms; null if unknown. A token without an expiry is used until the target rejects it. */
  readonly expiresAt: number | null
  readonly refreshToken: string | null
}

/**
 * The lease for requesting the next token of a destination. Only the process that has the lease may request a token.
 */
export interface TokenClaim {
  readonly destination: string
  readonly leaseToken: string
  /** Stored tokens. Null if none are stored, or if they belong to other login settings or another encryption key. */
  readonly held: HeldTokens | null
}

type Lease = Omit<TokenClaim, 'held'>

export const claimedTokens = new Leased<Lease>({
  table: 'sync_push_tokens',
  what: 'token of destination',
  key: { destination: 'destination' },
  due: 'lease_until',
})

/**
 * The tokens of one destination, shared by all processes. The stored tokens are encrypted if `PROTECT_KEYS` is set,
 * even without `PROTECT`.
 * A refresh token is deleted from the database before it is sent. Otherwise a process could send it again after a
 * crash.
 */
export class PushTokens {
  readonly #db: Db
  readonly #destination: string
  readonly #leaseMs: number
  readonly #place: CipherPlace

  /**
   * @param login fingerprint of the login settings. Tokens stored for other login settings are ignored.
   * @param leaseMs lease for requesting a token, in ms. Must be longer than a refresh plus a login.
   */
  constructor(db: Db, destination: string, login: string, leaseMs: number) {
    this.#db = db
    this.#destination = destination
    this.#leaseMs = leaseMs
    this.#place = { account: '', table: 'sync_push_tokens', key: JSON.stringify([destination, login]), column: 'tokens' }
  }

  /**
   * @returns the stored tokens. Null if none are stored, or if they belong to other login settings or another
   * encryption key.
   */
  async read(): Promise<HeldTokens | null> {
    return await this.#readFrom(this.#db.read)
  }

  /**
   * Claims the lease for requesting the next token.
   * @returns null if another process has the lease.
   * @throws LogMovedError after a switch to another database server, until the change log is checked.
   */
  async claim(): Promise<TokenClaim | null> {
    const leaseToken = newLeaseToken(this.#db)
    return await this.#write(async (tx) => {
      // After a restore, the check of the change log deletes outdated tokens. Until then, don't use stored tokens.
      await requireCheckedServer(tx)
      const destination = this.#destination
      await tx.run(sql`insert into sync_push_tokens (destination) values (${destination}) on conflict do nothing`)
      const lease = await claimedTokens.claimOne(tx, leaseToken, { destination }, { leaseMs: this.#leaseMs })
      return lease === null ? null : { ...lease, held: await this.#readFrom(tx) }
    })
  }

  /**
   * Deletes the stored tokens and renews the lease. Call this before sending the refresh token.
   * @throws LeaseLostError if this process lost the lease.
   */
  async spend(claim: TokenClaim): Promise<void> {
    await this.#write((tx) => claimedTokens.renew(tx, claim, this.#leaseMs, sql`tokens = null`))
  }

  /**
   * Stores new tokens and ends the lease.
   * @throws LeaseLostError if this process lost the lease.
   */
  async store(claim: TokenClaim, tokens: HeldTokens): Promise<void> {
    const sealed = this.#db.protection.seal(JSON.stringify(tokens), this.#place)
    await this.#write((tx) => claimedTokens.settle(tx, claim, sql`tokens = ${sealed}`))
  }

  async release(claim: TokenClaim): Promise<void> {
    await this.#write((tx) => claimedTokens.release(tx, claim))
  }

  async #readFrom(q: Pick<Db['read'], 'sql' | 'protection'>): Promise<HeldTokens | null> {
    const row = await q.sql.selectFrom('sync_push_tokens').select('tokens').where('destination', '=', this.#destination).executeTakeFirst()
    const opened = row?.tokens == null ? null : q.protection.open(row.tokens, this.#place)
    return opened === null ? null : (JSON.parse(opened) as HeldTokens)
  }

  #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#db.write('push-tokens', work)
  }
}
