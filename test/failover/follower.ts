import { sql } from 'kysely'
import { systemClock } from '../../src/base/clock.ts'
import { canonicalJson } from '../../src/model/json.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { type ChangeRow, changesOf } from '../tools/mirror.ts'
import { until } from '../tools/until.ts'

const PAUSE_MS = 20

/**
 * A reader of `changes` that follows migrations/follow-changes.md: it continues after its last number or, in a new log epoch, after the last
 * number common to both epochs.
 */
export class Follower {
  /** Epochs after which it was ahead of the log, and changes it took back. */
  readonly counts = { epochs: 0, takenBack: 0 }
  readonly #db: Db
  /** Changes by number, starting at 1, each as an identifying text. */
  #kept: string[] = []
  #epoch = ''
  #over = false
  readonly #running: Promise<void>

  constructor(db: Db) {
    this.#db = db
    this.#running = this.#run()
  }

  /** Waits for this many changes beyond the current log. */
  async more(count: number): Promise<void> {
    const wanted = this.#kept.length + count
    await until(`the reader has ${count} more changes`, () => this.#kept.length >= wanted)
  }

  async reach(seq: number): Promise<void> {
    await until(`the reader has change ${seq}`, () => this.#kept.length >= seq)
  }

  /** Reads the rest and stops. @returns one line for each skipped or different change. */
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
      // Retries an unavailable server.
      await this.#read().catch(() => undefined)
      await systemClock.sleep(PAUSE_MS)
    }
  }

  /** Reads epoch and changes in one statement, and so from one moment. */
  async #read(): Promise<void> {
    const rows = await this.#db.read.all(sql<{ log_epoch: string; common: number | null; changes: ChangeRow[] | null }>`
      select log_epoch,
        (select min(later.after_seq) from log_epochs mine join log_epochs later on later.epoch_no > mine.epoch_no
          where mine.log_epoch = ${this.#epoch}) as common,
        (select jsonb_agg(to_jsonb(c) order by seq) from changes c where seq > ${this.#kept.length}) as changes
      from mirror_info`)
    const [now] = rows
    if (!now) return
    if (now.log_epoch !== this.#epoch) this.#goOn(now.log_epoch, now.common ?? 0)
    else for (const change of now.changes ?? []) this.#kept[change.seq - 1] = textOf(change)
  }

  #goOn(epoch: string, common: number): void {
    if (this.#kept.length > common) {
      this.counts.epochs += 1
      this.counts.takenBack += this.#kept.length - common
      this.#kept = this.#kept.slice(0, common)
    }
    this.#epoch = epoch
  }
}

function textOf({ seq, account, entity, entity_id, operation, after }: ChangeRow): string {
  return `${seq} ${operation} ${account} ${entity} ${entity_id} ${canonicalJson(after as never)}`
}
