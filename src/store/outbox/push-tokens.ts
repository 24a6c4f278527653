import { sql } from 'kysely'
import type { CipherPlace } from '../../model/protection/cipher.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'

/** The tokens from the last request for a destination. */
export interface HeldTokens {
  /** Header value. */
  readonly token: string
  /** Epoch ms; null if the token is used until rejected. */
  readonly expiresAt: number | null
  readonly refreshToken: string | null
}

/** The lease for requesting the next token of a destination. */
export interface TokenClaim {
  readonly destination: string
  readonly leaseToken: string
  /** Stored tokens; null if none or of another login. */
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
 * The tokens of one destination, shared by all processes. `PROTECT_KEYS` encrypts them with every value of `PROTECT`. A refresh token is
 * deleted before it is sent, so that no process sends it again after a crash.
 */
export class PushTokens {
  readonly #db: Db
  readonly #destination: string
  readonly #leaseMs: number
  readonly #place: CipherPlace

  /** @param login fingerprint of the login; tokens of other logins are ignored. @param leaseMs longer than a refresh plus a login. */
  constructor(db: Db, destination: string, login: string, leaseMs: number) {
    this.#db = db
    this.#destination = destination
    this.#leaseMs = leaseMs
    this.#place = { account: '', table: 'sync_push_tokens', key: JSON.stringify([destination, login]), column: 'tokens' }
  }

  /** @returns the stored tokens; null if none, or of another login or key. */
  async read(): Promise<HeldTokens | null> {
    return await this.#readFrom(this.#db.read)
  }

  /** Claims the next token request. @returns null if another process has it. */
  async claim(): Promise<TokenClaim | null> {
    const leaseToken = newLeaseToken(this.#db)
    return await this.#write(async (tx) => {
      // After a restore, the change log check deletes old tokens. Before it, tokens can't be used.
      await requireCheckedServer(tx)
      const destination = this.#destination
      await tx.run(sql`insert into sync_push_tokens (destination) values (${destination}) on conflict do nothing`)
      const lease = await claimedTokens.claimOne(tx, leaseToken, { destination }, { leaseMs: this.#leaseMs })
      return lease === null ? null : { ...lease, held: await this.#readFrom(tx) }
    })
  }

  /** Deletes the stored tokens before the refresh token is sent. @throws LeaseLostError */
  async spend(claim: TokenClaim): Promise<void> {
    await this.#write((tx) => claimedTokens.renew(tx, claim, this.#leaseMs, sql`tokens = null`))
  }

  /** Stores new tokens and ends the claim. @throws LeaseLostError */
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
