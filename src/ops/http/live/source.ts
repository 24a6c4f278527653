import type { Db } from '../../../store/engine/db.ts'
import { listAlarms } from '../../../store/operators/alarms.ts'
import { listRuns } from '../../../store/reconcile/runs.ts'
import { readMarks } from '../../../store/upkeep/news.ts'
import { showMend } from '../../operations/index.ts'
import { readOverview } from '../../operations/overview.ts'
import type { VerdictConfig } from '../../status/status.ts'
import { type LiveKind, liveKinds } from './events.ts'

/** Runs that may still move: the newest. */
const NEWEST_RUNS = 20
/** What no signal tells of is looked at this often. */
const RARE_MS = 2_000

/** Finds out of which kinds something changed since it looked last: one for all listeners of a process. */
export class NewsSource {
  readonly #db: Db
  readonly #config: () => VerdictConfig
  /** How each kind was found last. */
  #marks: Partial<Record<LiveKind, string>> = {}
  #rareAt = Number.NEGATIVE_INFINITY

  private constructor(db: Db, config: () => VerdictConfig) {
    this.#db = db
    this.#config = config
  }

  /** One that tells of whatever changes from now on. */
  static async open(db: Db, config: () => VerdictConfig): Promise<NewsSource> {
    const source = new NewsSource(db, config)
    await source.look()
    return source
  }

  /** @throws what the database throws; what changed by then is told at the next look. */
  async look(): Promise<LiveKind[]> {
    const now = this.#db.clock.steady()
    const isRare = now - this.#rareAt >= RARE_MS
    const before = this.#marks
    this.#marks = { ...before, ...(await readMarks(this.#db.read)), ...(isRare && (await this.#rare())) }
    if (isRare) this.#rareAt = now
    return liveKinds.filter((kind) => this.#marks[kind] !== before[kind])
  }

  async #rare(): Promise<Partial<Record<LiveKind, string>>> {
    const q = this.#db.read
    const alarms = await listAlarms(q)
    const { verdict, sentence, since, needs } = await readOverview(this.#db, this.#config(), showMend)
    return {
      run: JSON.stringify(await listRuns(q, { limit: NEWEST_RUNS })),
      alarm: JSON.stringify(
        alarms.map(({ name, account, destination, state, severity, since }) => [name, account, destination, state, severity, since]),
      ),
      overview: JSON.stringify([verdict, sentence, since, needs.length]),
    }
  }
}
