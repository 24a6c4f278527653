import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { LeaseLostError } from '../../base/errors.ts'
import type { Db, Query, Tx } from './db.ts'
import type { LongestOf, WaitingTimes } from './longest-waits.ts'
import { wake } from './notify.ts'
import type { Topic } from './signals.ts'
import { dbTime, rowLock, skipLocked } from './sql.ts'

/** The longest lease of a delivery or a read. */
export const LONGEST_LEASE_MS = 120_000

/** A row that this process may work on until its lease ends. */
export interface Claimed {
  readonly leaseToken: string
}

/** A table whose rows are work that one process at a time may do. */
export interface LeasedSpec<C> {
  readonly table: string
  /** What a row is called in messages. */
  readonly what: string
  /** The columns of its key, and the name of each in a claim. */
  readonly key: Readonly<Record<string, keyof C & string>>
  /** The column that says when a row may be claimed and, while it is claimed, when its lease ends. Default: `due_at`. */
  readonly due?: string
  /** Who is told when claims are released. */
  readonly topic?: Topic
  /** Lets an index find the claimed rows; left out where an index holds their tokens. */
  readonly claimed?: (tx: Tx) => RawBuilder<unknown>
}

/** Which rows to claim. */
export interface Wanted {
  readonly where: RawBuilder<unknown>
  readonly limit: number
  /** Also rows that are not due, unless a process holds them. */
  readonly evenIfNotDue?: boolean
  /** With `evenIfNotDue`: also a row that was claimed with this token. */
  readonly heldBy?: string
}

/** How they are claimed. */
export interface Claiming {
  readonly leaseMs: number
  /** What else the claim changes. */
  readonly set?: RawBuilder<unknown>
  /** What a claim has beside its key and its token: columns, or expressions, by their names in the claim. */
  readonly returning?: Readonly<Record<string, string | RawBuilder<unknown>>>
}

/**
 * The one way in which processes share work. A row is claimed by writing a token into it and moving its due time to the end of the lease, by the
 * database's clock (invariant 14), so the work of a dead process becomes due again by itself. Only the holder of the token can settle it.
 */
export class Leased<C extends Claimed> {
  readonly #spec: LeasedSpec<C>
  readonly #table: RawBuilder<unknown>
  readonly #due: RawBuilder<unknown>
  readonly #key: RawBuilder<unknown>
  readonly #isFree: RawBuilder<unknown>
  /** The key and the token, by their names in a claim. */
  readonly #claimed: string

  constructor(spec: LeasedSpec<C>) {
    this.#spec = spec
    this.#table = sql.table(spec.table)
    this.#due = sql.ref(spec.due ?? 'due_at')
    const { table, key } = spec
    const columns = Object.keys(key)
    // As text, so that a statement that runs often is quick to make: all of these names are the program's own.
    this.#key = sql.raw(columns.join(', '))
    this.#isFree = sql.raw(columns.map((column) => `${table}.${column} = free.${column}`).join(' and '))
    this.#claimed = ['lease_token as "leaseToken"', ...columns.map((column) => `${table}.${column} as "${key[column]}"`)].join(', ')
  }

  /** @returns the statement that selects and locks the keys of rows to claim, those due longest first; rows that another process is claiming are passed over. */
  select(tx: Tx, { where, limit, evenIfNotDue = false, heldBy = '' }: Wanted): RawBuilder<unknown> {
    const isDue = sql`${this.#due} <= ${dbTime(tx)}`
    const isFree = evenIfNotDue ? sql`(lease_token is null or lease_token = ${heldBy} or ${isDue})` : isDue
    return sql`select ${this.#key} from ${this.#table} where ${where} and ${isFree} order by ${this.#due} limit ${sql.lit(limit)} ${skipLocked(tx)}`
  }

  /**
   * Claims rows.
   * @param selection from `select`, or another statement that gives keys.
   */
  async claim(tx: Tx, token: string, selection: RawBuilder<unknown>, { leaseMs, set, returning = {} }: Claiming): Promise<C[]> {
    let columns = this.#claimed
    const computed: RawBuilder<unknown>[] = []
    for (const [name, value] of Object.entries(returning)) {
      if (typeof value === 'string') columns += `, ${value} as "${name}"`
      else computed.push(sql`${value} as ${sql.ref(name)}`)
    }
    const claimed = sql`lease_token = ${token}, ${this.#due} = ${dbTime(tx, leaseMs)} ${also(set)}`
    const { rows } = await sql<C>`
      ${this.#updateOf(selection, claimed)} returning ${sql.join([sql.raw(columns), ...computed])}`.execute(tx.sql)
    return rows
  }

  /** Claims one row, due or not, unless another process holds it. @returns null then. @param heldBy as of `select`. */
  async claimOne(tx: Tx, token: string, key: Partial<C>, claiming: Claiming & Pick<Wanted, 'heldBy'>): Promise<C | null> {
    const selection = this.select(tx, { where: this.#isAt(key), limit: 1, evenIfNotDue: true, heldBy: claiming.heldBy ?? '' })
    const [claim] = await this.claim(tx, token, selection, claiming)
    return claim ?? null
  }

  /** Whether there is such a row, claimed or not. */
  async exists(q: Query, key: Partial<C>): Promise<boolean> {
    return (await sql`select 1 from ${this.#table} where ${this.#isAt(key)}`.execute(q.sql)).rows.length > 0
  }

  /**
   * Changes selected rows without claiming them, as one step of many. A row that is claimed after the selection read it stays as it is: its due
   * time is the end of a lease.
   * @param selection gives their keys, up to a limit.
   * @returns how many rows; fewer than the limit when none are left.
   */
  async change(tx: Tx, selection: RawBuilder<unknown>, set: RawBuilder<unknown>): Promise<number> {
    const isUnclaimed = sql`and ${this.#table}.lease_token is null`
    const { numAffectedRows } = await sql`${this.#updateOf(selection, set)} ${isUnclaimed}`.execute(tx.sql)
    return Number(numAffectedRows ?? 0)
  }

  /** Postgres runs this selection once. Within `in (…)` it may run it again for each row and change more than its limit. */
  #updateOf(selection: RawBuilder<unknown>, set: RawBuilder<unknown>): RawBuilder<unknown> {
    return sql`with free as (${selection}) update ${this.#table} set ${set} from free where ${this.#isFree}`
  }

  /**
   * Ends a claim, in the transaction that does the work.
   * @param set the row's new columns, its due time among them.
   * @param fence a further condition on the row.
   * @throws LeaseLostError when the lease is lost; the whole transaction must then roll back.
   */
  async settle(tx: Tx, claim: C, set: RawBuilder<unknown>, fence: RawBuilder<unknown> = sql``): Promise<void> {
    await this.#update(tx, claim, sql`lease_token = null ${also(set)}`, fence)
  }

  /** Goes on with a claim: its lease ends so much later. @throws LeaseLostError when the lease is lost. */
  async renew(tx: Tx, claim: C, leaseMs: number, set?: RawBuilder<unknown>, fence: RawBuilder<unknown> = sql``): Promise<void> {
    await this.#update(tx, claim, sql`${this.#due} = ${dbTime(tx, leaseMs)} ${also(set)}`, fence)
  }

  /** Checks a claim and keeps others from it until the transaction ends. @throws LeaseLostError when the lease is lost. */
  async hold(tx: Tx, claim: C): Promise<void> {
    const { rows } = await sql`select lease_token from ${this.#table} where ${this.isOurs(claim)} ${rowLock(tx, 'for share')}`.execute(
      tx.sql,
    )
    if (rows.length !== 1) throw this.#lost(claim)
  }

  async #update(tx: Tx, claim: C, set: RawBuilder<unknown>, fence: RawBuilder<unknown>): Promise<void> {
    const { numAffectedRows } = await sql`update ${this.#table} set ${set} where ${this.isOurs(claim)} ${fence}`.execute(tx.sql)
    if (numAffectedRows !== 1n) throw this.#lost(claim)
  }

  /** Gives a claim back, unless its lease is lost. @param dueInMs when it is due again. @param set what else changes. */
  async release(tx: Tx, claim: C, dueInMs = 0, set?: RawBuilder<unknown>): Promise<void> {
    const due = sql`${this.#due} = ${dbTime(tx, dueInMs)}`
    await sql`update ${this.#table} set lease_token = null, ${due} ${also(set)} where ${this.isOurs(claim)}`.execute(tx.sql)
  }

  /**
   * Gives back everything that is claimed, due at once. For a process that knows that no other one works.
   * @param of columns of the rows: those of one account, for example.
   */
  async releaseAll(tx: Tx, of: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.releaseWhere(tx, allOf(of))
  }

  /** Releases what a process had claimed. @param of as of `releaseAll`. @returns how many rows. */
  async releaseOf(tx: Tx, processId: string, of: Readonly<Record<string, string>> = {}): Promise<number> {
    return await this.releaseWhere(tx, sql`substr(lease_token, 1, ${sql.lit(processId.length + 1)}) = ${`${processId} `} and ${allOf(of)}`)
  }

  /** Gives back claimed rows that match; an ended claim needs none. @returns how many rows. */
  async releaseWhere(tx: Tx, which: RawBuilder<unknown>): Promise<number> {
    const { claimed = () => sql`1 = 1`, topic } = this.#spec
    const { numAffectedRows } = await sql`
      update ${this.#table} set lease_token = null, ${this.#due} = ${dbTime(tx)}
      where ${claimed(tx)} and lease_token is not null and ${this.#due} > ${dbTime(tx)} and ${which}`.execute(tx.sql)
    const released = Number(numAffectedRows ?? 0)
    if (released > 0 && topic !== undefined) wake(tx, topic)
    return released
  }

  /**
   * Which of its times make something wait, for `capWaits`.
   * @param longest of a row that is not claimed.
   * @param more other columns of the table that make something wait, and what all of them depend on.
   */
  waits<Allowed>(
    leaseMs: number | ((allowed: Allowed) => number),
    longest: LongestOf<Allowed>,
    more: Partial<WaitingTimes<Allowed>> = {},
  ): WaitingTimes<Allowed> {
    const { table, due = 'due_at' } = this.#spec
    const dueWait: LongestOf<Allowed> = (row, allowed) => {
      if (row['lease_token'] === null) return longest(row, allowed)
      return { ms: typeof leaseMs === 'number' ? leaseMs : leaseMs(allowed), becomes: 'lease' }
    }
    return {
      ...more,
      table,
      key: Object.keys(this.#spec.key),
      columns: { [due]: dueWait, ...more.columns },
      others: ['lease_token', ...(more.others ?? [])],
    }
  }

  /** Condition: the row is the one that was claimed, and the claim still holds. */
  isOurs(claim: C): RawBuilder<boolean> {
    return sql<boolean>`${this.#isAt(claim)} and lease_token = ${claim.leaseToken}`
  }

  #isAt(key: Partial<C>): RawBuilder<unknown> {
    const isSame = Object.entries(this.#spec.key).map(([column, name]) => sql`${sql.ref(column)} = ${key[name]}`)
    return sql.join(isSame, sql` and `)
  }

  #lost(claim: C): LeaseLostError {
    const { what, key } = this.#spec
    return new LeaseLostError(
      `${what} ${Object.values(key)
        .map((name) => claim[name])
        .join(' ')}`,
    )
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
