import { sql } from 'kysely'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { LastUsesTable } from '../schema/reads.ts'

/** Only people read these times; they need not be newer. */
const WRITE_EVERY_MS = 10_000

/** `credential`: the service gave a token for it. `webhook_secret`: it verified a delivery. */
export type UsedKind = LastUsesTable['kind']

interface Use {
  readonly account: string
  readonly kind: UsedKind
  /** The id of a credential, or the tag of a secret; see `secretTag`. */
  readonly key: string
  readonly atMs: number
}

/**
 * Records when secrets and credentials were used last, so that operators see when an old one can be removed (trap 37). Collects in memory and
 * writes every 10 s. A crash loses some; the next use brings them back.
 */
export class LastUses implements Service {
  readonly name = 'last uses'
  readonly #db: Db
  readonly #log: Log
  #pending = new Map<string, Use>()

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
  }

  /** Notes a use; of several, the newest counts. */
  note(kind: UsedKind, account: string, key: string, atMs: number): void {
    const id = `${account} ${kind} ${key}`
    this.#pending.set(id, { account, kind, key, atMs: Math.max(this.#pending.get(id)?.atMs ?? atMs, atMs) })
  }

  /** Notes that the service has just given a token for a credential. */
  took(account: string, clientId: string): void {
    this.note('credential', account, clientId, this.#db.clock.now())
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#db.clock.sleep(WRITE_EVERY_MS, signal)
      await this.write()
    }
  }

  /** Writes what was noted. When the database is down, the next call writes it. */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return
    const pending = this.#pending
    this.#pending = new Map()
    try {
      // In key order, as every process takes its locks.
      await save(
        this.#db,
        [...pending].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use),
      )
    } catch (error) {
      for (const { kind, account, key, atMs } of pending.values()) this.note(kind, account, key, atMs)
      this.#log.debug(
        { err: error },
        `the last uses of credentials and webhook secrets could not be written (${messageOf(error)}); retrying in ${WRITE_EVERY_MS / 1000} s`,
      )
    }
  }
}

/** An older use never overwrites a newer one, whichever process saw it. */
async function save(db: Db, uses: readonly Use[]): Promise<void> {
  await db.write('last-uses', async (tx) => {
    for (const { account, kind, key, atMs } of uses) {
      await sql`
        insert into sync_last_uses (account, kind, key, last_used_at) values (${account}, ${kind}, ${key}, ${timeValue(tx, timeFromMs(atMs))})
        on conflict (account, kind, key) do update set last_used_at = excluded.last_used_at
        where excluded.last_used_at > sync_last_uses.last_used_at`.execute(tx.sql)
    }
  })
}

/** @returns a function that tells when something of an account was used last; null when it never was. */
export async function lastUses(q: Query, kind: UsedKind): Promise<(account: string, key: string) => TimeText | null> {
  const rows = await q.sql.selectFrom('sync_last_uses').selectAll().where('kind', '=', kind).execute()
  const uses = new Map(rows.map(({ account, key, last_used_at }) => [`${account} ${key}`, last_used_at]))
  return (account, key) => uses.get(`${account} ${key}`) ?? null
}
