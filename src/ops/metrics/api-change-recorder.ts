import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import type { ApiChangeWatch } from '../../model/api-changes.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ApiChangeSeen, MAX_API_CHANGES, writeApiChanges } from '../../store/upkeep/api-changes.ts'
import type { surprisesOf as SurprisesOf } from '../../upstream/api-changes/known.ts'

const EVERY_MS = 30_000
/** Maximum number of answers that wait in memory while the schemas load. Further answers are not compared. */
const MOST_WAITING = 100

/**
 * Records how answers and deliveries differ from the specification.
 * Counts in memory and writes every 30 s. Otherwise, each read would need an additional write.
 * Continues to count while the database is unavailable.
 */
export class ApiChangeRecorder implements ApiChangeWatch, Service {
  readonly name = 'API changes'
  readonly #db: Db
  readonly #log: Log
  #seen = new Map<string, ApiChangeSeen>()
  #surprisesOf: typeof SurprisesOf | null = null
  #loading: Promise<void> | null = null
  readonly #waiting: (readonly [account: string, resource: string, body: unknown])[] = []

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
  }

  look(account: string, resource: string, body: unknown): void {
    if (this.#surprisesOf === null) {
      if (this.#waiting.length < MOST_WAITING) this.#waiting.push([account, resource, body])
      this.#loading ??= this.#load().catch((error: unknown) =>
        this.#log.warn({ err: error }, `API changes are not recorded: ${messageOf(error)}`),
      )
      return
    }
    const { resource: name, surprises } = this.#surprisesOf(resource, body)
    if (surprises.length === 0) return
    const at = timeFromMs(this.#db.clock.now())
    for (const one of surprises) this.#add({ ...one, account, resource: name, firstAt: at, lastAt: at, answers: 1 })
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.write()
      await this.#db.clock.sleep(EVERY_MS, signal)
    }
    await this.write()
  }

  /** Writes the differences that were found since the last write. */
  async write(): Promise<void> {
    await this.#loading
    // If loading the schemas failed, for example because of too many open files, the next answer starts loading again.
    this.#loading = null
    const seen = this.#seen
    if (seen.size === 0) return
    this.#seen = new Map()
    try {
      await writeApiChanges(this.#db, [...seen.values()])
    } catch (error) {
      const later = [...this.#seen.values()]
      this.#seen = seen
      for (const one of later) this.#add(one)
      this.#log.debug({ err: error }, `API changes could not be recorded and will be written later: ${messageOf(error)}`)
    }
  }

  /** Imports the schemas, then compares the waiting answers. Importing takes 0.1 s, which would delay the start. */
  async #load(): Promise<void> {
    this.#surprisesOf = (await import('../../upstream/api-changes/known.ts')).surprisesOf
    for (const waiting of this.#waiting.splice(0)) this.look(...waiting)
  }

  #add(one: ApiChangeSeen): void {
    const key = JSON.stringify([one.account, one.resource, one.path, one.kind, one.type])
    const before = this.#seen.get(key)
    if (before !== undefined) this.#seen.set(key, { ...before, lastAt: one.lastAt, answers: before.answers + one.answers })
    else if (this.#seen.size < MAX_API_CHANGES) this.#seen.set(key, one)
  }
}
