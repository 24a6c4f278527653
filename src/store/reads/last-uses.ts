import { sql } from 'kysely'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { LastUsesTable } from '../schema/reads.ts'

const WRITE_EVERY_MS = 10_000

/** Kind of a secret whose last use is recorded. A `credential` gets tokens. A `webhook_secret` verifies deliveries. */
export type UsedKind = LastUsesTable['kind']

interface Use {
  readonly account: string
  readonly kind: UsedKind
  /** The client id of a credential, or the tag of a webhook secret; see `secretTag`. */
  readonly key: string
  readonly atMs: number
}

/**
 * Stores when each credential and webhook secret was last used, so that operators can remove unused ones (trap 37).
 * Writes to the database every 10 s.
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

  /** Stores a use in memory. Only the newest use of each key is later written to the database. */
  note(kind: UsedKind, account: string, key: string, atMs: number): void {
    const id = `${account} ${kind} ${key}`
    this.#pending.set(id, { account, kind, key, atMs: Math.max(this.#pending.get(id)?.atMs ?? atMs, atMs) })
  }

  /** Records that a credential obtained a token now. */
  took(account: string, clientId: string): void {
    this.note('credential', account, clientId, this.#db.clock.now())
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#db.clock.sleep(WRITE_EVERY_MS, signal)
      await this.write()
    }
  }

  /**
   * Writes the uses in memory to the database. If writing fails, the uses stay in memory, and the next call tries
   * again.
   */
  async write(): Promise<void> {
    if (this.#pending.size === 0) return
    const pending = this.#pending
    this.#pending = new Map()
    try {
      await save(
        this.#db,
        [...pending].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, use]) => use),
      )
    } catch (error) {
      for (const { kind, account, key, atMs } of pending.values()) this.note(kind, account, key, atMs)
      this.#log.debug(
        { err: error },
        `last uses of credentials and webhook secrets were not written (${messageOf(error)}); retrying in ${WRITE_EVERY_MS / 1000} s`,
      )
    }
  }
}

/**
 * Writes uses in the given order. The caller sorts them by key, because otherwise two processes could deadlock. An
 * older use never replaces a newer one.
 */
async function save(db: Db, uses: readonly Use[]): Promise<void> {
  await db.write('last-uses', async (tx) => {
    for (const { account, kind, key, atMs } of uses) {
      await tx.run(sql`
        insert into sync_last_uses (account, kind, key, last_used_at) values (${account}, ${kind}, ${key}, ${timeValue(tx, timeFromMs(atMs))})
        on conflict (account, kind, key) do update set last_used_at = excluded.last_used_at
        where excluded.last_used_at > sync_last_uses.last_used_at`)
    }
  })
}

/** @returns a function that returns the time of a key's last use; null if the key was never used. */
export async function lastUses(q: Query, kind: UsedKind): Promise<(account: string, key: string) => TimeText | null> {
  const rows = await q.sql.selectFrom('sync_last_uses').selectAll().where('kind', '=', kind).execute()
  const uses = new Map(rows.map(({ account, key, last_used_at }) => [`${account} ${key}`, last_used_at]))
  return (account, key) => uses.get(`${account} ${key}`) ?? null
}
