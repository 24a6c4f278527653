import type { Db } from '../../../store/engine/db.ts'
import { listAlarms } from '../../../store/operators/alarms.ts'
import { listRuns } from '../../../store/reconcile/runs.ts'
import {
  type DeliveryNews,
  deliveriesAgain,
  newChanges,
  newDeliveries,
  newestNumbers,
  newPushes,
  type PushNews,
  pushesAgain,
} from '../../../store/upkeep/news.ts'
import { readOverview } from '../../status/overview.ts'
import type { VerdictConfig } from '../../status/status.ts'
import type { LiveEvent } from './events.ts'
import { FollowedRows } from './rows.ts'

/** Changes that are told of at one look. */
const MOST_CHANGES = 100
/** Runs that may still move: the newest. */
const NEWEST_RUNS = 20
/** What no signal tells of is looked at this often. */
const RARE_MS = 2_000

/** Finds out what happened since it looked last: one for all listeners of a process. */
export class NewsSource {
  readonly #db: Db
  readonly #config: () => VerdictConfig
  readonly #deliveries: FollowedRows<DeliveryNews>
  readonly #pushes: FollowedRows<PushNews>
  /** What was last told of each run and alarm, and of the overview. */
  readonly #told = new Map<string, string>()
  #seq: number
  #rareAt = Number.NEGATIVE_INFINITY

  private constructor(db: Db, config: () => VerdictConfig, from: { delivery: number; push: number; change: number }) {
    this.#db = db
    this.#config = config
    const isReady = (state: string) => state === 'ready'
    this.#deliveries = new FollowedRows(newDeliveries, deliveriesAgain, isReady, from.delivery)
    this.#pushes = new FollowedRows(newPushes, pushesAgain, isReady, from.push)
    this.#seq = from.change
  }

  /** One that tells of whatever happens from now on. */
  static async open(db: Db, config: () => VerdictConfig): Promise<NewsSource> {
    const source = new NewsSource(db, config, await newestNumbers(db.read))
    // What stands already is no news.
    await source.#rare()
    return source
  }

  /**
   * Tells what happened since.
   * @throws what the database throws; what was not told by then is told at the next look.
   */
  async look(tell: (events: readonly LiveEvent[]) => void): Promise<void> {
    const q = this.#db.read
    const deliveries = await this.#deliveries.look(q)
    tell(deliveries.rows.map(({ id, ...row }) => ({ kind: 'delivery', data: { inbox_id: id, ...row } })))
    const changes = await newChanges(q, this.#seq, MOST_CHANGES + 1)
    const areChangesCut = changes.length > MOST_CHANGES
    this.#seq = areChangesCut ? (await newestNumbers(q)).change : (changes.at(-1)?.seq ?? this.#seq)
    tell(changes.slice(0, MOST_CHANGES).map((data) => ({ kind: 'change', data })))
    const pushes = await this.#pushes.look(q)
    tell(pushes.rows.map(({ id, ...row }) => ({ kind: 'push', data: { outbox_id: id, ...row } })))
    if (areChangesCut || deliveries.isCut || pushes.isCut) tell([{ kind: 'reset', data: { reason: 'more happened than is told of' } }])
    const now = this.#db.clock.steady()
    if (now - this.#rareAt < RARE_MS) return
    this.#rareAt = now
    tell(await this.#rare())
  }

  /** Runs, alarms and the overview, where they are not what they were. */
  async #rare(): Promise<LiveEvent[]> {
    const q = this.#db.read
    const events: LiveEvent[] = []
    for (const run of await listRuns(q, { limit: NEWEST_RUNS })) {
      const { run_id, account, state, submissions_total, submissions_done, rows_compared, repaired, known, ended_at, exit_code } = run
      const findings = run.missing + run.different + run.absent + run.unreadable + run.undelivered + run.lost
      const data = {
        run_id,
        account,
        state,
        submissions_total,
        submissions_done,
        rows_compared,
        findings,
        repaired,
        known,
        ended_at,
        exit_code,
      }
      if (this.#isNews(`run ${run_id}`, data)) events.push({ kind: 'run', data })
    }
    for (const { name, account, destination, state, severity, since } of await listAlarms(q)) {
      const data = { name, account, destination, state, severity, since }
      if (this.#isNews(`alarm ${name} ${account} ${destination}`, data)) events.push({ kind: 'alarm', data })
    }
    const { verdict, sentence, since, needs } = await readOverview(this.#db, this.#config())
    const data = { verdict, sentence, since, needs: needs.length }
    if (this.#isNews('overview', data)) events.push({ kind: 'overview', data })
    return events
  }

  #isNews(key: string, data: object): boolean {
    const text = JSON.stringify(data)
    if (this.#told.get(key) === text) return false
    this.#told.set(key, text)
    return true
  }
}
