import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import type { DriftWatch } from '../../model/interface-drift.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { type DriftSeen, MOST_DRIFT, writeInterfaceDrift } from '../../store/upkeep/interface-drift.ts'
import type { surprisesOf as SurprisesOf } from '../../upstream/drift/known.ts'

const EVERY_MS = 30_000
/** Answers that are kept while the code that looks at them is loaded. */
const MOST_WAITING = 100

/**
 * Keeps how answers and deliveries differ from the specification. It counts in memory and writes now and then, so that a read costs no
 * write more. While the database is away it goes on counting.
 */
export class DriftRecorder implements DriftWatch, Service {
  readonly name = 'interface drift'
  readonly #db: Db
  readonly #log: Log
  #seen = new Map<string, DriftSeen>()
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
        this.#log.warn({ err: error }, `drift of the interface is not recorded: ${messageOf(error)}`),
      )
      return
    }
    const { resource: told, surprises } = this.#surprisesOf(resource, body)
    if (surprises.length === 0) return
    const at = timeFromMs(this.#db.clock.now())
    for (const one of surprises) this.#add({ ...one, account, resource: told, firstAt: at, lastAt: at, answers: 1 })
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.write()
      await this.#db.clock.sleep(EVERY_MS, signal)
    }
    await this.write()
  }

  /** Writes what was seen since the last time. */
  async write(): Promise<void> {
    await this.#loading
    // A load that failed, because of too many open files for instance, begins again with the next answer.
    this.#loading = null
    const seen = this.#seen
    if (seen.size === 0) return
    this.#seen = new Map()
    try {
      await writeInterfaceDrift(this.#db, [...seen.values()])
    } catch (error) {
      const later = [...this.#seen.values()]
      this.#seen = seen
      for (const one of later) this.#add(one)
      this.#log.debug(
        { err: error },
        `how answers differ from the specification could not be recorded and is written later: ${messageOf(error)}`,
      )
    }
  }

  /** The schemas of the specification take a tenth of a second to load, which the start of a process does not wait for. */
  async #load(): Promise<void> {
    this.#surprisesOf = (await import('../../upstream/drift/known.ts')).surprisesOf
    for (const waiting of this.#waiting.splice(0)) this.look(...waiting)
  }

  #add(one: DriftSeen): void {
    const key = JSON.stringify([one.account, one.resource, one.path, one.kind, one.type])
    const before = this.#seen.get(key)
    if (before !== undefined) this.#seen.set(key, { ...before, lastAt: one.lastAt, answers: before.answers + one.answers })
    else if (this.#seen.size < MOST_DRIFT) this.#seen.set(key, one)
  }
}
