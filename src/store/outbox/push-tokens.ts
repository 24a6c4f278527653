import { sql } from 'kysely'
import type { Place } from '../../model/protection/cipher.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'

/** What the last request for a token of a destination gave. */
export interface HeldTokens {
  /** The access token, as its header has it. */
  readonly token: string
  /** Milliseconds since the epoch; null: it is used until it is refused. */
  readonly expiresAt: number | null
  readonly refreshToken: string | null
}

/** The right to request the next token of a destination. */
export interface TokenClaim {
  readonly destination: string
  readonly leaseToken: string
  /** What is stored; null when there is nothing, or it is of another login. */
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
 * The tokens of one destination, which all processes share: encrypted by `PROTECT_KEYS`, whatever `PROTECT` says. A refresh token is
 * forgotten before it is sent, so that no crash makes anybody send it twice.
 */
export class PushTokens {
  readonly #db: Db
  readonly #destination: string
  readonly #leaseMs: number
  readonly #place: Place

  /**
   * @param login tells logins of the destination apart: what another one brought is not read. Not stored.
   * @param leaseMs longer than a refresh and a login after it take.
   */
  constructor(db: Db, destination: string, login: string, leaseMs: number) {
    this.#db = db
    this.#destination = destination
    this.#leaseMs = leaseMs
    this.#place = { account: '', table: 'sync_push_tokens', key: JSON.stringify([destination, login]), column: 'tokens' }
  }

  /** @returns what is stored; null when there is nothing, or another login or key stored it. */
  async read(): Promise<HeldTokens | null> {
    return await this.#readFrom(this.#db.read)
  }

  /** Claims the next request for a token. @returns null while another process has it. */
  async claim(): Promise<TokenClaim | null> {
    const leaseToken = newLeaseToken(this.#db)
    return await this.#write(async (tx) => {
      // After a restore the old tokens are deleted when the change log is checked; until then none of them may be spent.
      await requireCheckedServer(tx)
      const destination = this.#destination
      await sql`insert into sync_push_tokens (destination) values (${destination}) on conflict do nothing`.execute(tx.sql)
      const lease = await claimedTokens.claimOne(tx, leaseToken, { destination }, { leaseMs: this.#leaseMs })
      return lease === null ? null : { ...lease, held: await this.#readFrom(tx) }
    })
  }

  /** Forgets what is stored: its refresh token is sent next. @throws LeaseLostError */
  async spend(claim: TokenClaim): Promise<void> {
    await this.#write((tx) => claimedTokens.renew(tx, claim, this.#leaseMs, sql`tokens = null`))
  }

  /** Stores what a request gave, and ends the claim. @throws LeaseLostError */
  async store(claim: TokenClaim, tokens: HeldTokens): Promise<void> {
    const sealed = this.#db.protection.seal(JSON.stringify(tokens), this.#place)
    await this.#write((tx) => claimedTokens.settle(tx, claim, sql`tokens = ${sealed}`))
  }

  /** Ends a claim without a token. */
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
