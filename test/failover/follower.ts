import { systemClock } from '../../src/base/clock.ts'
import { canonicalJson } from '../../src/model/json.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { changesOf } from '../tools/mirror.ts'

const PAUSE_MS = 20

/** What a reader keeps of a change: enough to tell it from any other. */
interface Kept {
  readonly seq: number
  readonly text: string
}

/**
 * A reader of `changes` as migrations/queries.md describes it: behind the last number that it has, and back to where two branches of the log
 * parted when an epoch tells so.
 */
export class Follower {
  readonly #db: Db
  readonly #kept: Kept[] = []
  readonly #running: Promise<void>
  #over = false

  constructor(db: Db) {
    this.#db = db
    this.#running = this.#run()
  }

  get last(): number {
    return this.#kept.at(-1)?.seq ?? 0
  }

  /** Reads what is left, and ends. @returns one line for each change that it passed over, or has other than the log. */
  async end(): Promise<string[]> {
    this.#over = true
    await this.#running
    while ((await this.#read()) > 0);
    const log = (await changesOf(this.#db)).map(textOf)
    const faults = log.flatMap((text, index) =>
      this.#kept[index]?.text === text ? [] : [`the reader has ${this.#kept[index]?.text}, the log ${text}`],
    )
    if (this.#kept.length > log.length) faults.push(`the reader has ${this.#kept.length - log.length} changes that the log has not`)
    return faults
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      // A server that is away is asked again.
      await this.#read().catch(() => 0)
      await systemClock.sleep(PAUSE_MS)
    }
  }

  async #read(): Promise<number> {
    const rows = await changesOf(this.#db, this.last)
    for (const row of rows) this.#kept.push({ seq: row.seq, text: textOf(row) })
    return rows.length
  }
}

function textOf({ seq, account, entity, entity_id, operation, after }: Awaited<ReturnType<typeof changesOf>>[number]): string {
  return `${seq} ${operation} ${account} ${entity} ${entity_id} ${canonicalJson(after as never)}`
}
