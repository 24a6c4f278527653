import { sql } from 'kysely'
import { systemClock } from '../../src/base/clock.ts'
import { canonicalJson } from '../../src/model/json.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { type ChangeRow, changesOf } from '../tools/mirror.ts'
import { until } from '../tools/until.ts'

const PAUSE_MS = 20

/**
 * A reader of `changes` that holds to migrations/queries.md: it goes on behind the last number that it has, and, when the log epoch is
 * another, from the last number that both epochs have in common.
 */
export class Follower {
  /** How often an epoch told it that it was further than the log, and how many changes it took back. */
  readonly told = { epochs: 0, takenBack: 0 }
  readonly #db: Db
  /** The changes that it has, each as a text that tells it from any other. The number is the place, from 1. */
  #kept: string[] = []
  #epoch = ''
  #over = false
  readonly #running: Promise<void>

  constructor(db: Db) {
    this.#db = db
    this.#running = this.#run()
  }

  /** Waits until it has so many changes more than the log had. */
  async more(count: number): Promise<void> {
    const wanted = this.#kept.length + count
    await until(`the reader has ${count} more changes`, () => this.#kept.length >= wanted)
  }

  /** Waits until it has the change with this number. */
  async reach(seq: number): Promise<void> {
    await until(`the reader has change ${seq}`, () => this.#kept.length >= seq)
  }

  /** Reads what is left, and ends. @returns one line for each change that it passed over, or has other than the log. */
  async end(): Promise<string[]> {
    this.#over = true
    await this.#running
    let had = -1
    while (had !== this.#kept.length) {
      had = this.#kept.length
      await this.#read()
    }
    const log = (await changesOf(this.#db)).map(textOf)
    const faults = log.flatMap((text, index) =>
      this.#kept[index] === text ? [] : [`the reader has ${this.#kept[index]}, the log ${text}`],
    )
    if (this.#kept.length > log.length) faults.push(`the reader has ${this.#kept.length - log.length} changes that the log has not`)
    return faults
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      // A server that is away is asked again.
      await this.#read().catch(() => undefined)
      await systemClock.sleep(PAUSE_MS)
    }
  }

  /** Epoch and changes are read in one statement, and so of one moment. */
  async #read(): Promise<void> {
    const { rows } = await sql<{ log_epoch: string; common: number | null; changes: ChangeRow[] | null }>`
      select log_epoch,
        (select min(later.after_seq) from log_epochs mine join log_epochs later on later.epoch_no > mine.epoch_no
          where mine.log_epoch = ${this.#epoch}) as common,
        (select jsonb_agg(to_jsonb(c) order by seq) from changes c where seq > ${this.#kept.length}) as changes
      from mirror_info`.execute(this.#db.read.sql)
    const [now] = rows
    if (!now) return
    if (now.log_epoch !== this.#epoch) this.#goOn(now.log_epoch, now.common ?? 0)
    else for (const change of now.changes ?? []) this.#kept[change.seq - 1] = textOf(change)
  }

  #goOn(epoch: string, common: number): void {
    if (this.#kept.length > common) {
      this.told.epochs += 1
      this.told.takenBack += this.#kept.length - common
      this.#kept = this.#kept.slice(0, common)
    }
    this.#epoch = epoch
  }
}

function textOf({ seq, account, entity, entity_id, operation, after }: ChangeRow): string {
  return `${seq} ${operation} ${account} ${entity} ${entity_id} ${canonicalJson(after as never)}`
}
