import { randomBytes, randomUUID } from 'node:crypto'
import { CompiledQuery, sql } from 'kysely'
import { TransientError } from '../../base/errors.ts'
import type { Row } from '../../model/entity.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { prepared } from '../postgres/session.ts'
import { syncInbox } from '../schema/inbox.ts'
import { specWithout } from '../schema/table.ts'
import { type DifferingDelivery, noteRepeats, revive } from './repeats.ts'

/** A verified delivery to store. */
export interface NewDelivery {
  readonly account: string
  readonly deliveryId: string
  readonly receivedAt: TimeText
  /** Headers that were verified, and headers that are needed to read the body. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** 1-based position of the webhook secret that verified the delivery. */
  readonly secret: number
}

const NAME = 'inbox-append'
/**
 * Minimum and maximum size of the trial row of `appendAndRemove`, in bytes. A row of the minimum size needs a new
 * database page. The maximum is the size of a large transaction of deliveries.
 */
const PAGE_BYTES = 7_500
const TRIAL_BYTES = 8 << 20

const inbox = specWithout(syncInbox, 'inbox_id')

/**
 * Inserts a batch of deliveries.
 * All bodies are one binary parameter, which the server splits.
 * A list of bodies would be sent as escaped text, which is slow.
 * `statement_timestamp()` gives all deliveries of a batch the same due time, so `inbox_id` decides their order.
 * If a delivery is already stored, `do update` locks its row, so the commit waits for standbys. With `do nothing`, the
 * repeated delivery could be acknowledged before a standby has stored it. A failover could then lose the delivery.
 */
const POSTGRES_INSERT = prepared(
  NAME,
  `
  insert into sync_inbox (account, delivery_id, received_at, secret, state, attempts, available_at, headers, body)
  select account, delivery_id, received_at, secret, 'ready', 0, statement_timestamp(), headers, substr($6::bytea, start, length)
  from unnest($1::text[], $2::text[], $3::timestamptz[], $4::int[], $5::text[], $7::int[], $8::int[])
    with ordinality as given(account, delivery_id, received_at, secret, headers, start, length, position)
  order by position
  on conflict (account, delivery_id) do update
    set state = 'ready', attempts = 0, available_at = excluded.available_at, lease_token = null, error = null, settled_at = null,
      body = coalesce(sync_inbox.body, excluded.body)
    where sync_inbox.state = 'dead' and (sync_inbox.body is null or sync_inbox.body = excluded.body)`,
)

/** Stores deliveries durably in the inbox. */
export class InboxAppender {
  /** Whether a commit blocks the event loop; true on SQLite. */
  readonly blocking: boolean
  readonly #db: Db
  readonly #onDiffering: (differing: DifferingDelivery) => void
  #failedBytes = 0

  /**
   * @param onDiffering called with each repeated delivery whose body differs from the stored body, or whose stored body
   * was removed.
   */
  constructor(db: Db, onDiffering: (differing: DifferingDelivery) => void = () => {}) {
    this.#db = db
    this.#onDiffering = onDiffering
    this.blocking = db.kind === 'sqlite'
  }

  /** Body bytes of the largest failed transaction. Reset to 0 when a transaction of at least this size succeeds. */
  get failedBytes(): number {
    return this.#failedBytes
  }

  /** Records that a transaction with `bytes` of bodies succeeded. */
  noteRoom(bytes: number): void {
    if (bytes >= this.#failedBytes) this.#failedBytes = 0
  }

  /**
   * Stores deliveries in one priority transaction.
   * A stored delivery with the same id doesn't change, unless it is dead. A dead delivery becomes ready again.
   * If the transaction fails because of a delivery's content, stores each delivery in its own transaction. Then only
   * the bad delivery fails.
   * @returns for each delivery, in order: null if durably stored; otherwise an error. After a TransientError, a retry
   * can help. Never rejects.
   */
  async append(deliveries: readonly NewDelivery[]): Promise<readonly (Error | null)[]> {
    if (deliveries.length === 0) return []
    const failure = await this.#tryAppend(deliveries)
    if (failure === null || failure instanceof TransientError || deliveries.length === 1) return deliveries.map(() => failure)
    const outcomes: (Error | null)[] = []
    for (const delivery of deliveries) outcomes.push(await this.#tryAppend([delivery]))
    return outcomes
  }

  async #tryAppend(deliveries: readonly NewDelivery[]): Promise<Error | null> {
    // Postgres rejects the same key twice in one statement. A duplicate has the outcome of its first copy.
    const distinct = distinctByKey(deliveries)
    const bytes = distinct.reduce((sum, { body }) => sum + body.length, 0)
    try {
      const added = await this.#db.write(NAME, (tx) => (tx.kind === 'sqlite' ? appendSqlite(tx, distinct) : appendPostgres(tx, distinct)), {
        priority: true,
        singleStatement: this.#db.kind === 'postgres',
      })
      this.noteRoom(bytes)
      // Compares bodies only if an id was already stored. A batch of new deliveries costs nothing extra.
      if (added < deliveries.length) for (const differing of await noteRepeats(this.#db, deliveries)) this.#onDiffering(differing)
      return null
    } catch (error) {
      this.#failedBytes = Math.max(this.#failedBytes, bytes, 1)
      return error instanceof Error ? error : new Error(String(error))
    }
  }
}

/**
 * Runs an append statement without rows. Fails if appending is impossible, for example if the user may not insert.
 */
export async function appendNothing(tx: Tx): Promise<void> {
  const columns = sql.raw('account, delivery_id, received_at, state, attempts, available_at, headers, body')
  await tx.run(sql`
    insert into sync_inbox (${columns}) select ${columns} from sync_inbox where 1 = 0
    on conflict (account, delivery_id) do update set state = 'ready'`)
}

/**
 * Appends and deletes a row in one transaction, to detect a full disk.
 * On a full disk, small writes may still fit into existing pages of the database, but deliveries don't.
 * The database file stays larger, so call this function only if the disk may be full.
 * @param bytes size of the row: `failedBytes`, if a transaction failed before.
 */
export async function appendAndRemove(tx: Tx, bytes = PAGE_BYTES): Promise<void> {
  const now = timeFromMs(tx.clock.now())
  const id = randomUUID()
  // No delivery has the account `''`, so the row can't conflict with a delivery.
  await tx.run(sql`
    insert into sync_inbox (account, delivery_id, received_at, secret, state, attempts, available_at, headers, body)
    values ('', ${id}, ${now}, 0, 'done', 0, ${now}, '{}', ${randomBytes(Math.min(Math.max(bytes, PAGE_BYTES), TRIAL_BYTES))})`)
  await tx.run(sql`delete from sync_inbox where account = '' and delivery_id = ${id}`)
}

function distinctByKey(deliveries: readonly NewDelivery[]): readonly NewDelivery[] {
  if (deliveries.length === 1) return deliveries
  const kept = new Map<string, NewDelivery>()
  for (const delivery of deliveries) {
    const key = `${delivery.account} ${delivery.deliveryId}`
    if (!kept.has(key)) kept.set(key, delivery)
  }
  return kept.size === deliveries.length ? deliveries : [...kept.values()]
}

async function appendSqlite(tx: Tx, deliveries: readonly NewDelivery[]): Promise<number> {
  const now = timeFromMs(tx.clock.now())
  const rows = deliveries.map((delivery) => rowOf(delivery, now))
  const inserted = await tx.insertMany(inbox, rows, { ignore: true })
  if (inserted < rows.length) await revive(tx, deliveries)
  wake(tx, 'inbox')
  return inserted
}

/**
 * @returns the number of new deliveries, plus the number of dead deliveries that became ready. A dead delivery becomes
 * ready if it arrives again with the same body, or if its stored body was removed. If the body differs, `noteRepeats`
 * makes the delivery ready later.
 */
async function appendPostgres(tx: Tx, deliveries: readonly NewDelivery[]): Promise<number> {
  const starts: number[] = []
  let start = 1
  const bodies = deliveries.map((delivery) => delivery.body)
  for (const body of bodies) {
    starts.push(start)
    start += body.length
  }
  const { numAffectedRows } = await tx.sql.executeQuery(
    CompiledQuery.raw(POSTGRES_INSERT, [
      deliveries.map((delivery) => delivery.account),
      deliveries.map((delivery) => delivery.deliveryId),
      deliveries.map((delivery) => delivery.receivedAt),
      deliveries.map((delivery) => delivery.secret),
      deliveries.map((delivery) => JSON.stringify(delivery.headers)),
      Buffer.concat(bodies, start - 1),
      starts,
      bodies.map((body) => body.length),
    ]),
  )
  wake(tx, 'inbox')
  return Number(numAffectedRows ?? 0)
}

function rowOf({ account, deliveryId, receivedAt, secret, headers, body }: NewDelivery, now: TimeText): Row {
  const row = { account, delivery_id: deliveryId, received_at: receivedAt, secret, state: 'ready', attempts: 0, available_at: now, body }
  // The type `Row` allows only JSON. SQLite binds a Buffer as a blob.
  return { ...row, headers: JSON.stringify(headers) } as unknown as Row
}
