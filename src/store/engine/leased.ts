import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { LeaseLostError } from '../../base/errors.ts'
import type { Db, Query, Tx } from './db.ts'
import { wake } from './notify.ts'
import type { Topic } from './signals.ts'
import { dbTime, rowLock, skipLocked } from './sql.ts'

/** Maximum lease, in ms, for one read from the service. */
export const LONGEST_LEASE_MS = 120_000

/** A row that this process may work on until its lease ends. */
export interface Claimed {
  readonly leaseToken: string
}

/** Describes a table of work items. One process at a time may work on an item. */
export interface LeasedSpec<C> {
  readonly table: string
  /** Noun for a row in error messages. */
  readonly what: string
  /** Maps each key column to a property of the claim. */
  readonly key: Readonly<Record<string, keyof C & string>>
  /**
   * Name of the time column; default: `due_at`. In an unclaimed row: when the row may be claimed.
   * In a claimed row: when the lease ends.
   */
  readonly due?: string
  /** Topic to wake when claims are released. */
  readonly topic?: Topic
  /** SQL condition that is true for all claimed rows and has an index. Omit `claimed` if `lease_token` has an index. */
  readonly claimed?: (tx: Tx) => RawBuilder<unknown>
}

export interface Wanted {
  readonly where: RawBuilder<unknown>
  readonly limit: number
  /** Also selects rows that aren't due, unless they are claimed. */
  readonly evenIfNotDue?: boolean
  /** With `evenIfNotDue`: also selects rows that are claimed with this token. */
  readonly heldBy?: string
}

export interface Claiming {
  readonly leaseMs: number
  /** SQL that sets additional columns of the claimed row. */
  readonly set?: RawBuilder<unknown>
  /** Additional properties of the claim: the column or expression of each property. */
  readonly returning?: Readonly<Record<string, string | RawBuilder<unknown>>>
}

/**
 * Shares work between processes. All shared work uses this class.
 * A claim writes a token into a row and sets the row's due time to the end of the lease. If the process dies, the row
 * becomes due again at that time.
 * Lease times use the database's clock. Only the process that knows a row's token can settle the row.
 */
export class Leased<C extends Claimed> {
  readonly #spec: LeasedSpec<C>
  readonly #table: RawBuilder<unknown>
  readonly #due: RawBuilder<unknown>
  readonly #key: RawBuilder<unknown>
  readonly #isFree: RawBuilder<unknown>
  /** SQL list of the token and key columns, each with its claim property as alias. */
  readonly #claimed: string

  constructor(spec: LeasedSpec<C>) {
    this.#spec = spec
    this.#table = sql.table(spec.table)
    this.#due = sql.ref(spec.due ?? 'due_at')
    const { table, key } = spec
    const columns = Object.keys(key)
    // Raw SQL is faster than `sql.ref`, and safe here: all names are constants of this program.
    this.#key = sql.raw(columns.join(', '))
    this.#isFree = sql.raw(columns.map((column) => `${table}.${column} = free.${column}`).join(' and '))
    this.#claimed = ['lease_token as "leaseToken"', ...columns.map((column) => `${table}.${column} as "${key[column]}"`)].join(', ')
  }

  /**
   * @returns SQL that selects and locks the keys of rows to claim. Rows that have been due longest come first. Leaves
   * out rows that another process is claiming.
   */
  select(tx: Tx, { where, limit, evenIfNotDue = false, heldBy = '' }: Wanted): RawBuilder<unknown> {
    const isDue = sql`${this.#due} <= ${dbTime(tx)}`
    const isFree = evenIfNotDue ? sql`(lease_token is null or lease_token = ${heldBy} or ${isDue})` : isDue
    return sql`select ${this.#key} from ${this.#table} where ${where} and ${isFree} order by ${this.#due} limit ${sql.lit(limit)} ${skipLocked(tx)}`
  }

  /** Claims the selected rows. @param selection from `select`, or other SQL that returns keys. */
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

  /**
   * Claims one row, even if it isn't due.
   * @param claiming.heldBy see `Wanted`.
   * @returns null if the row doesn't exist, or if the lease of another claim hasn't ended.
   */
  async claimOne(tx: Tx, token: string, key: Partial<C>, claiming: Claiming & Pick<Wanted, 'heldBy'>): Promise<C | null> {
    const selection = this.select(tx, { where: this.#isAt(key), limit: 1, evenIfNotDue: true, heldBy: claiming.heldBy ?? '' })
    const [claim] = await this.claim(tx, token, selection, claiming)
    return claim ?? null
  }

  async exists(q: Query, key: Partial<C>): Promise<boolean> {
    return (await q.one(sql`select 1 from ${this.#table} where ${this.#isAt(key)}`)) !== null
  }

  /**
   * Changes a limited number of rows without claiming the rows. Skips rows with a lease token.
   * Call this method again until it changes fewer rows than the limit of `selection`.
   * @param selection SQL that returns keys, with a limit.
   * @returns the number of changed rows.
   */
  async change(tx: Tx, selection: RawBuilder<unknown>, set: RawBuilder<unknown>): Promise<number> {
    const isUnclaimed = sql`and ${this.#table}.lease_token is null`
    return await tx.run(sql`${this.#updateOf(selection, set)} ${isUnclaimed}`)
  }

  /**
   * A `with` clause makes Postgres run the selection once. Inside `in (…)`, Postgres might run the selection for each
   * row, and then update more rows than the selection's limit.
   */
  #updateOf(selection: RawBuilder<unknown>, set: RawBuilder<unknown>): RawBuilder<unknown> {
    return sql`with free as (${selection}) update ${this.#table} set ${set} from free where ${this.#isFree}`
  }

  /**
   * Ends a claim, in the transaction that does the work.
   * @param set SQL that sets columns of the row. Must set the due time.
   * @param fence SQL of an additional condition on the row, beginning with `and`.
   * @throws LeaseLostError if the lease is lost, or if the row doesn't meet `fence`. Roll back the transaction then.
   */
  async settle(tx: Tx, claim: C, set: RawBuilder<unknown>, fence: RawBuilder<unknown> = sql``): Promise<void> {
    await this.#update(tx, claim, sql`lease_token = null ${also(set)}`, fence)
  }

  /** Extends the lease to `leaseMs` from now. @throws LeaseLostError if the lease is lost. */
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

  /**
   * Releases a claim. Does nothing if the lease is lost.
   * @param dueInMs delay in ms until the row is due.
   * @param set SQL that sets additional columns.
   */
  async release(tx: Tx, claim: C, dueInMs = 0, set?: RawBuilder<unknown>): Promise<void> {
    const due = sql`${this.#due} = ${dbTime(tx, dueInMs)}`
    await tx.run(sql`update ${this.#table} set lease_token = null, ${due} ${also(set)} where ${this.isOurs(claim)}`)
  }

  /**
   * Releases all claims and makes their rows due immediately. Call this only if no other process works on the table.
   * With `of`, releases only rows with these column values, such as the account.
   */
  async releaseAll(tx: Tx, of: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.releaseWhere(tx, allOf(of))
  }

  /**
   * Releases all claims of one process. With `of`, releases only rows with these column values.
   * @returns the number of released rows.
   */
  async releaseOf(tx: Tx, processId: string, of: Readonly<Record<string, string>> = {}): Promise<number> {
    return await this.releaseWhere(tx, sql`substr(lease_token, 1, ${sql.lit(processId.length + 1)}) = ${`${processId} `} and ${allOf(of)}`)
  }

  /** Releases claimed rows that match a condition. @returns the number of released rows. */
  async releaseWhere(tx: Tx, which: RawBuilder<unknown>): Promise<number> {
    const { claimed = () => sql`1 = 1`, topic } = this.#spec
    const released = await tx.run(sql`
      update ${this.#table} set lease_token = null, ${this.#due} = ${dbTime(tx)}
      where ${claimed(tx)} and lease_token is not null and ${this.#due} > ${dbTime(tx)} and ${which}`)
    if (released > 0 && topic !== undefined) wake(tx, topic)
    return released
  }

  /** SQL condition: the row still has this claim's token. */
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

/** Creates a token for one claim. The token begins with the id of the claiming process. */
export function newLeaseToken({ processId }: Pick<Db, 'processId'>): string {
  return `${processId} ${randomUUID()}`
}
