import { onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { type RunContext, workRun } from '../../src/reconcile/run/run.ts'
import type { CronSchedule } from '../../src/reconcile/run/schedule.ts'
import { Reconciler } from '../../src/reconcile/run/service.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { claimNewRun, type RunClaim } from '../../src/store/reconcile/claims.ts'
import type { RunRow } from '../../src/store/reconcile/runs.ts'
import type { RunOptions } from '../../src/store/schema/reconcile.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { type OpenedDatabase, openAgain, silentLog, type TestDatabase } from '../tools/databases.ts'
import { applyEach } from '../tools/mirror.ts'
import { trackFact } from '../tools/observations.ts'
import { defaultRecordFields } from '../tools/record-fields.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'
import { closedAtEnd } from '../tools/servers.ts'

export const ACCOUNT = 'default'

/** The emulator, a mirror that knows its submissions but has no rows, and a reconciler. */
export class RunRig {
  readonly sandbox: Sandbox
  readonly db: Db
  readonly client: UpstreamClient
  readonly ids: readonly string[]
  readonly opened: OpenedDatabase

  private constructor(opened: OpenedDatabase, sandbox: Sandbox, client: UpstreamClient, ids: readonly string[]) {
    this.opened = opened
    this.db = opened.db
    this.sandbox = sandbox
    this.client = client
    this.ids = ids
  }

  static async open(database: TestDatabase, submissions: number): Promise<RunRig> {
    const sandbox = await startSandbox({ submissions: 0, autoStart: false })
    const opened = await database.open()
    const ids = Array.from({ length: submissions }, () => {
      const id = sandbox.addSubmission(ACCOUNT)
      sandbox.addEvent(ACCOUNT, id, { type: 'market_attached' })
      sandbox.addMessage(ACCOUNT, id, { body_text: 'Welcome' })
      return id
    }).sort()
    await ensureAccounts(opened.db, [ACCOUNT])
    await applyEach(opened.db, ids, (id) => trackFact(ACCOUNT, id))
    const client = sandboxClient(sandbox, ACCOUNT)
    onTestFinished(async () => {
      await client.close()
      await sandbox.close()
      await opened.close()
    })
    return new RunRig(opened, sandbox, client, ids)
  }

  async another(clock: Clock = systemClock): Promise<Db> {
    const db = await closedAtEnd(openAgain(this.opened.config, { clock }))
    return db
  }

  /** Begins a run. @throws Error if another is active. */
  async claim(options: RunOptions = {}, db = this.db): Promise<RunClaim> {
    const claim = await claimNewRun(db, { account: ACCOUNT, options, requestedBy: 'command' })
    if ('busy' in claim) throw new Error(`run ${claim.runId} is in progress until ${claim.leaseUntil}`)
    return claim
  }

  work(claim: RunClaim, parts: Partial<RunContext> = {}, signal = new AbortController().signal): Promise<RunRow> {
    return workRun({ ...this.#common(this.db), database: null, budgetMs: 600_000, onAbort: 'stop', ...parts }, claim, signal)
  }

  async reconcile(options: RunOptions = {}, parts: Partial<RunContext> = {}): Promise<RunRow> {
    return await this.work(await this.claim(options), parts)
  }

  reconciler(schedule: CronSchedule | null, db = this.db): Reconciler {
    const { client, ...common } = this.#common(db)
    return new Reconciler({ ...common, clients: new Map([[ACCOUNT, client]]), budgetMs: 600_000, schedule })
  }

  asked(from = 0): string[] {
    const requests = this.sandbox.activity.requests.slice(from).filter((one) => one.operation === 'requirements')
    return requests.map((one) => /submissions\/([0-9a-f-]{36})/.exec(one.url)?.[1] ?? '')
  }

  #common(db: Db) {
    return {
      db,
      database: this.opened.config,
      client: this.client,
      clock: db.clock,
      log: silentLog,
      observer: silentObserver,
      concurrency: 4,
      recordFields: defaultRecordFields,
      destinations: [],
    }
  }
}
