import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { LeaseLostError } from '../../base/errors.ts'
import type { Db, Query, Tx } from './db.ts'
import { wake } from './notify.ts'
import type { Topic } from './signals.ts'
import { dbTime, rowLock, skipLocked } from './sql.ts'

/** The longest lease of a delivery or a read. */
export const LONGEST_LEASE_MS = 120_000

/** A row that this process may work on until its lease ends. */
export interface Claimed {
  readonly leaseToken: string
}

/** A table of work items, each for one process at a time. */
export interface LeasedSpec<C> {
  readonly table: string
  /** Noun for a row in errors. */
  readonly what: string
  /** Key columns, mapped to claim properties. */
  readonly key: Readonly<Record<string, keyof C & string>>
  /** Time column: when a row may be claimed or, while claimed, when its lease ends. Default: `due_at`. */
  readonly due?: string
  /** The topic to wake when claims are released. */
  readonly topic?: Topic
  /** Condition that lets an index find claimed rows; omitted if tokens are indexed. */
  readonly claimed?: (tx: Tx) => RawBuilder<unknown>
}

export interface Wanted {
  readonly where: RawBuilder<unknown>
  readonly limit: number
  /** Includes rows that are not due, except claimed rows. */
  readonly evenIfNotDue?: boolean
  /** With `evenIfNotDue`: includes rows claimed with this token. */
  readonly heldBy?: string
}

export interface Claiming {
  readonly leaseMs: number
  /** More columns to set. */
  readonly set?: RawBuilder<unknown>
  /** Additional claim properties: columns or expressions by property name. */
  readonly returning?: Readonly<Record<string, string | RawBuilder<unknown>>>
}

/**
 * The one way to share work between processes. A claim writes a token into the row and sets its due time to the end of the lease. The work
 * of a dead process thus becomes due again. Times use the database's clock. Only the token's holder can settle the row.
 */
export class Leased<C extends Claimed> {
  readonly #spec: LeasedSpec<C>
  readonly #table: RawBuilder<unknown>
  readonly #due: RawBuilder<unknown>
  readonly #key: RawBuilder<unknown>
  readonly #isFree: RawBuilder<unknown>
  /** Key and token columns with their claim names. */
  readonly #claimed: string

  constructor(spec: LeasedSpec<C>) {
    this.#spec = spec
    this.#table = sql.table(spec.table)
    this.#due = sql.ref(spec.due ?? 'due_at')
    const { table, key } = spec
    const columns = Object.keys(key)
    // Raw SQL for speed; all names are constants of this program.
    this.#key = sql.raw(columns.join(', '))
    this.#isFree = sql.raw(columns.map((column) => `${table}.${column} = free.${column}`).join(' and '))
    this.#claimed = ['lease_token as "leaseToken"', ...columns.map((column) => `${table}.${column} as "${key[column]}"`)].join(', ')
  }

  /** @returns a statement that selects and locks keys of rows to claim, longest due first. Skips rows that another process is claiming. */
  select(tx: Tx, { where, limit, evenIfNotDue = false, heldBy = '' }: Wanted): RawBuilder<unknown> {
    const isDue = sql`${this.#due} <= ${dbTime(tx)}`
    const isFree = evenIfNotDue ? sql`(lease_token is null or lease_token = ${heldBy} or ${isDue})` : isDue
    return sql`select ${this.#key} from ${this.#table} where ${where} and ${isFree} order by ${this.#due} limit ${sql.lit(limit)} ${skipLocked(tx)}`
  }

  /** @param selection from `select`, or another statement that returns keys. */
  async claim(tx: Tx, token: string, selection: RawBuilder<unknown>, { leaseMs, set, returning = {} }: Claiming): Promise<C[]> {
    let columns = this.#claimed
    const computed: RawBuilder<unknown>[] = []
    for (const [name, value] of Object.entries(returning)) {
      if (typeof value === 'string') columns += `, ${value} as "${name}"`
      else computed.push(sql`${value} as ${sql.ref(name)}`)
    }
    const claimed = sql`lease_token = ${token}, ${this.#due} = ${dbTime(tx, leaseMs)} ${also(set)}`
    return await tx.all(sql<C>`
      ${this.#updateOf(selection, claimed)} returning ${sql.join([sql.raw(columns), ...computed])}`)
  }

  /** Claims one row, even if not due. @returns null if another process has the claim. @param heldBy see `Wanted`. */
  async claimOne(tx: Tx, token: string, key: Partial<C>, claiming: Claiming & Pick<Wanted, 'heldBy'>): Promise<C | null> {
    const selection = this.select(tx, { where: this.#isAt(key), limit: 1, evenIfNotDue: true, heldBy: claiming.heldBy ?? '' })
    const [claim] = await this.claim(tx, token, selection, claiming)
    return claim ?? null
  }

  async exists(q: Query, key: Partial<C>): Promise<boolean> {
    return (await q.one(sql`select 1 from ${this.#table} where ${this.#isAt(key)}`)) !== null
  }

  /**
   * Changes selected rows without claiming them, as one step of many. Skips rows claimed after the selection.
   * @param selection returns keys, up to a limit. @returns the number of changed rows; below the limit if none are left.
   */
  async change(tx: Tx, selection: RawBuilder<unknown>, set: RawBuilder<unknown>): Promise<number> {
    const isUnclaimed = sql`and ${this.#table}.lease_token is null`
    return await tx.run(sql`${this.#updateOf(selection, set)} ${isUnclaimed}`)
  }

  /** With `with`, Postgres runs the selection once. Inside `in (…)`, it might run per row and exceed the limit. */
  #updateOf(selection: RawBuilder<unknown>, set: RawBuilder<unknown>): RawBuilder<unknown> {
    return sql`with free as (${selection}) update ${this.#table} set ${set} from free where ${this.#isFree}`
  }

  /**
   * Ends a claim in the transaction that does the work.
   * @param set the row's new columns, including its due time. @param fence additional condition on the row.
   * @throws LeaseLostError if the lease is lost. Roll back the transaction then.
   */
  async settle(tx: Tx, claim: C, set: RawBuilder<unknown>, fence: RawBuilder<unknown> = sql``): Promise<void> {
    await this.#update(tx, claim, sql`lease_token = null ${also(set)}`, fence)
  }

  /** Extends the lease to end in `leaseMs`. @throws LeaseLostError if the lease is lost. */
  async renew(tx: Tx, claim: C, leaseMs: number, set?: RawBuilder<unknown>, fence: RawBuilder<unknown> = sql``): Promise<void> {
    await this.#update(tx, claim, sql`${this.#due} = ${dbTime(tx, leaseMs)} ${also(set)}`, fence)
  }

  /** Checks a claim and locks its row until the transaction ends. @throws LeaseLostError if the lease is lost. */
  async hold(tx: Tx, claim: C): Promise<void> {
    const rows = await tx.all(sql`select lease_token from ${this.#table} where ${this.isOurs(claim)} ${rowLock(tx, 'for share')}`)
    if (rows.length !== 1) throw this.#lost(claim)
  }

  async #update(tx: Tx, claim: C, set: RawBuilder<unknown>, fence: RawBuilder<unknown>): Promise<void> {
    const updated = await tx.run(sql`update ${this.#table} set ${set} where ${this.isOurs(claim)} ${fence}`)
    if (updated !== 1) throw this.#lost(claim)
  }

  /** Releases a claim, unless its lease is lost. @param dueInMs delay until due. @param set more columns to set. */
  async release(tx: Tx, claim: C, dueInMs = 0, set?: RawBuilder<unknown>): Promise<void> {
    const due = sql`${this.#due} = ${dbTime(tx, dueInMs)}`
    await tx.run(sql`update ${this.#table} set lease_token = null, ${due} ${also(set)} where ${this.isOurs(claim)}`)
  }

  /**
   * Releases all claims, due immediately. Call it only if no other process works. @param of values that rows must have, such as the
   * account.
   */
  async releaseAll(tx: Tx, of: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.releaseWhere(tx, allOf(of))
  }

  /** Releases the claims of a process. @param of see `releaseAll`. @returns how many rows. */
  async releaseOf(tx: Tx, processId: string, of: Readonly<Record<string, string>> = {}): Promise<number> {
    return await this.releaseWhere(tx, sql`substr(lease_token, 1, ${sql.lit(processId.length + 1)}) = ${`${processId} `} and ${allOf(of)}`)
  }

  /** Releases matching claimed rows. @returns how many rows. */
  async releaseWhere(tx: Tx, which: RawBuilder<unknown>): Promise<number> {
    const { claimed = () => sql`1 = 1`, topic } = this.#spec
    const released = await tx.run(sql`
      update ${this.#table} set lease_token = null, ${this.#due} = ${dbTime(tx)}
      where ${claimed(tx)} and lease_token is not null and ${this.#due} > ${dbTime(tx)} and ${which}`)
    if (released > 0 && topic !== undefined) wake(tx, topic)
    return released
  }

  /** SQL condition: the row still has this claim. */
  isOurs(claim: C): RawBuilder<boolean> {
    return sql<boolean>`${this.#isAt(claim)} and lease_token = ${claim.leaseToken}`
  }

  #isAt(key: Partial<C>): RawBuilder<unknown> {
    const isSame = Object.entries(this.#spec.key).map(([column, name]) => sql`${sql.ref(column)} = ${key[name]}`)
    return sql.join(isSame, sql` and `)
  }

  #lost(claim: C): LeaseLostError {
    const { what, key } = this.#spec
    const names = Object.values(key).map((name) => claim[name])
    return new LeaseLostError(`${what} ${names.join(' ')}`)
  }
}

function allOf(of: Readonly<Record<string, string>>): RawBuilder<unknown> {
  const isOf = Object.entries(of).map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
  return sql.join([sql`1 = 1`, ...isOf], sql` and `)
}

function also(set: RawBuilder<unknown> | undefined): RawBuilder<unknown> {
  return set === undefined ? sql`` : sql`, ${set}`
}

/** A token for one claim. It begins with the id of the claiming process. */
export function newLeaseToken({ processId }: Pick<Db, 'processId'>): string {
  return `${processId} ${randomUUID()}`
}
