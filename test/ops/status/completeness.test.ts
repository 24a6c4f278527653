import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { loadConfig } from '../../../src/config/config.ts'
import type { Observation, Origin } from '../../../src/model/observations.ts'
import { msFromTime, timeFromMs } from '../../../src/model/time.ts'
import { createMetrics } from '../../../src/ops/metrics/metrics.ts'
import { StoreGauges } from '../../../src/ops/metrics/store-gauges.ts'
import { showFix } from '../../../src/ops/operations/index.ts'
import { COMPLETENESS_SCOPE } from '../../../src/ops/status/completeness.ts'
import { readStatus } from '../../../src/ops/status/status.ts'
import { countArrivals } from '../../../src/store/completeness/arrival-counts.ts'
import { countLostWebhooks } from '../../../src/store/completeness/lost-webhooks.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { ensureAccounts, noteUnreadableEvents } from '../../../src/store/reads/accounts.ts'
import type { ArrivalCountsTable, ArrivalsView, CompletenessView } from '../../../src/store/schema/completeness.ts'
import { account as environment } from '../../config/support.ts'
import { type OpenedDatabase, onSqlite, silentLog } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  byFirstFeedRead,
  byFullRead,
  byPoll,
  byWebhook,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
  uuid,
  wireEvent,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'

const LOST_AFTER_MS = 900_000

const ACCOUNT = 'default'
const submission = uuid(9, 1)
const quiet = uuid(9, 2)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe.each(onSqlite)('completeness on $name', (database) => {
  let clock: ManualClock
  let opened: OpenedDatabase
  let db: Db

  beforeEach(async () => {
    clock = new ManualClock(Date.now() - 3 * HOUR)
    opened = await database.open({ clock })
    db = opened.db
    await ensureAccounts(db, [ACCOUNT])
    await applyAll(db, [trackFact(ACCOUNT, submission), trackFact(ACCOUNT, quiet)])
  })
  afterEach(() => opened.close())

  const ago = (ms: number) => new Date(clock.now() - ms).toISOString()
  const event = (n: number, origin: Origin, agoMs = 90_000) =>
    observedEvent(ACCOUNT, submission, wireEvent(n, { occurred_at: ago(agoMs) }), origin)
  const message = (n: number, origin: Origin, agoMs = 90_000) =>
    observedMessage(ACCOUNT, submission, wireMessage(n, { occurred_at: ago(agoMs) }), origin)
  const byReconcile: Origin = { ...byFullRead, via: 'reconcile', cause: 'reconcile' }

  async function arrive(): Promise<void> {
    await applyAll(db, [event(1, byWebhook), event(2, byPoll), event(3, byFullRead), event(4, byPoll)])
    await applyAll(db, [event(5, byFirstFeedRead, 24 * HOUR), message(1, byReconcile), message(2, byFirstFeedRead)])
    clock.advance(5 * MINUTE)
    await applyAll(db, [event(4, byWebhook, 90_000 + 5 * MINUTE), message(2, byWebhook, 90_000 + 5 * MINUTE)])
    clock.advance(HOUR)
    while (await countArrivals(db)) {}
    while ((await countLostWebhooks(db, ACCOUNT, LOST_AFTER_MS)).more) {}
  }

  async function arrivals(): Promise<ArrivalsView[]> {
    return db.read.sql.selectFrom('arrivals').selectAll().orderBy('entity').orderBy('record_id').execute()
  }

  async function counts(): Promise<Omit<ArrivalCountsTable, 'account' | 'hour'>[]> {
    const rows = await db.read.sql.selectFrom('arrival_counts').selectAll().orderBy('entity').orderBy('hour').execute()
    const sums = new Map<string, Omit<ArrivalCountsTable, 'account' | 'hour'>>()
    for (const { account: _, hour, entity, ...row } of rows) {
      expect(msFromTime(hour) % HOUR).toBe(0)
      const sum = sums.get(entity) ?? { entity, webhook: 0, poll: 0, backfill: 0, reconcile: 0, lost: 0 }
      for (const key of ['webhook', 'poll', 'backfill', 'reconcile', 'lost'] as const) sum[key] += row[key]
      sums.set(entity, sum)
    }
    return [...sums.values()]
  }

  function completenessOf(id: string): Promise<CompletenessView> {
    const rows = db.read.sql.selectFrom('completeness').selectAll().where('account', '=', ACCOUNT)
    return rows.where('submission_id', '=', id).executeTakeFirstOrThrow()
  }

  it('counts by the hour', async () => {
    const startMs = clock.now()
    await applyAll(db, [event(1, byWebhook)])
    clock.advance(2 * HOUR)
    await applyAll(db, [event(2, byWebhook)])
    while (await countArrivals(db)) {}
    const rows = await db.read.sql.selectFrom('arrival_counts').select(['hour', 'webhook']).orderBy('hour').execute()
    const hour = Math.floor(startMs / HOUR) * HOUR
    expect(rows).toEqual([hour, hour + 2 * HOUR].map((ms) => ({ hour: timeFromMs(ms), webhook: 1 })))
  })

  it('shows for each event and message when, how and how late it became known, and whether a webhook reported it', async () => {
    const startMs = clock.now()
    await arrive()
    const shown = await arrivals()
    expect(shown.map(({ known_via, webhook, delay_seconds }) => [known_via, webhook, delay_seconds])).toEqual([
      ['webhook', 'first', 90],
      ['poll', 'none', 90],
      ['full_read', 'none', 90],
      ['poll', 'later', 90],
      ['backfill', 'not expected', 24 * 3_600],
      ['reconcile', 'none', 90],
      ['poll', 'later', 90],
    ])
    const started = timeFromMs(startMs)
    expect(shown[0]).toMatchObject({ known_at: started, webhook_at: started, occurred_at: timeFromMs(startMs - 90_000) })
    expect(shown[1]).toMatchObject({ webhook_at: null })
    expect(shown[3]).toMatchObject({ known_at: started, webhook_at: timeFromMs(startMs + 5 * MINUTE) })
  })

  it('counts new records per hour, once each, and those without a webhook', async () => {
    await arrive()
    const expected = [
      { entity: 'market_events', webhook: 1, poll: 3, backfill: 1, reconcile: 0, lost: 2 },
      { entity: 'thread_messages', webhook: 0, poll: 1, backfill: 0, reconcile: 1, lost: 1 },
    ]
    expect(await counts()).toEqual(expected)
    expect(await countArrivals(db)).toBe(false)
    await applyAll(db, [event(1, byFullRead), event(2, byPoll)])
    const about = { account: ACCOUNT, submissionId: submission, cause: 'reconcile' } as const
    const gone = { events: [uuid(1, 2)], messages: [uuid(2, 1)], attachments: [], goneAt: timeFromMs(clock.now()) }
    const { changes } = await applyAll(db, [{ kind: 'absent', ...about, ...gone }])
    expect(changes).toBeGreaterThan(1)
    while (await countArrivals(db)) {}
    expect(await counts()).toEqual(expected)
  })

  it('counts many by several processes, in steps, each once', async () => {
    const facts = (from: number): Observation[] => Array.from({ length: 200 }, (_, i) => message(from + i, byPoll))
    for (let from = 0; from < 2_600; from += 200) await applyAll(db, facts(from))
    const all = async () => {
      while (await countArrivals(db)) {}
    }
    await Promise.all([all(), all(), all()])
    await all()
    expect(await counts()).toMatchObject([{ poll: 2_600 }])
  })

  it('shows for each submission its age, overdue reads, last reconciliation, and lost webhooks', async () => {
    await arrive()
    expect(await completenessOf(quiet)).toMatchObject({
      tracked_via: 'command',
      unreachable_since: null,
      events_read_at: null,
      thread_read_at: null,
      state_read_at: null,
      events_fully_read_at: null,
      reconciled_at: null,
      reconciled_by: null,
      event_count: 0,
      message_count: 0,
      lost_webhooks: 0,
      failing_reads: 0,
    })
    expect((await completenessOf(quiet)).lag_seconds).toBeGreaterThan(3 * 3_600 - 60)
    const at = timeFromMs(clock.now())
    const later = timeFromMs(Date.now() + HOUR)
    await db.write('test', async (tx) => {
      await tx.run(sql`
        update sync_reads set due_at = ${later}, last_read_at = ${at}, last_full_read_at = ${at}, failures = 1
        where submission_id = ${submission}`)
      const proof = { account: ACCOUNT, submission_id: submission, run_id: uuid(7, 1), visited_at: at, reconciled_at: at }
      await tx.sql.insertInto('sync_reconciled').values(proof).execute()
    })
    expect(await completenessOf(submission)).toMatchObject({
      events_read_at: at,
      thread_read_at: at,
      state_read_at: at,
      events_fully_read_at: at,
      thread_fully_read_at: at,
      lag_seconds: 0,
      failing_reads: 3,
      reconciled_at: at,
      reconciled_by: uuid(7, 1),
      event_count: 5,
      message_count: 2,
      lost_webhooks: 3,
    })
    await db.write('test', (tx) => noteUnreadableEvents(tx, ACCOUNT, at))
    expect(await completenessOf(submission)).toMatchObject({ lost_webhooks: 1 })
  })

  it('gives the sums of an account to readers, to status and to metrics', async () => {
    await arrive()
    await applyAll(db, [observedState(ACCOUNT, submission, wireRequirements(submission, []), 1)])
    const at = timeFromMs(clock.now() - HOUR)
    await db.write('test', async (tx) => {
      await tx.sql.updateTable('sync_reads').set({ last_read_at: at }).where('submission_id', '=', submission).execute()
      const proof = { account: ACCOUNT, run_id: uuid(7, 1), visited_at: at }
      await tx.sql
        .insertInto('sync_reconciled')
        .values([
          { ...proof, submission_id: submission, reconciled_at: at },
          { ...proof, submission_id: quiet, reconciled_at: null },
        ])
        .execute()
    })
    const row = await db.read.sql.selectFrom('account_completeness').selectAll().executeTakeFirstOrThrow()
    expect(row).toMatchObject({
      account: ACCOUNT,
      state: 'active',
      submissions: 2,
      unreachable: 0,
      never_read: 1,
      oldest_events_read_at: at,
      oldest_state_read_at: at,
      reconciled: 1,
      oldest_reconciled_at: at,
      known_by_webhook: 1,
      known_by_poll: 4,
      known_by_backfill: 1,
      known_by_reconcile: 1,
      lost_webhooks: 3,
      webhook_loss_ratio: 0.5,
      webhook_loss_ratio_day: 0.5,
      events_unreadable_at: null,
    })
    const status = await readStatus(db, { version: '0', config: loadConfig(environment), showFix, isTerminal: true })
    expect(status.scope).toBe(COMPLETENESS_SCOPE)
    expect(status.accounts[0]?.completeness).toMatchObject({
      never_read: 1,
      reconciled: 1,
      oldest_reconciled_at: at,
      lost_webhooks: 3,
      webhook_loss_ratio: 0.5,
      discovery: [],
      known_by_poll: 4,
      webhook_loss_day: { expected: 6, lost: 3, since: expect.any(String) },
    })
    const { registry } = createMetrics()
    await new StoreGauges(registry, db, silentLog, () => loadConfig(environment), { storeFault: async () => null }).refresh()
    const text = await registry.metrics()
    expect(text).toContain('submission_mirror_webhook_loss_ratio{account="default"} 0.5')
    expect(text).toContain('submission_mirror_reconciled_age_seconds{account="default"} 3600')
    expect(text).toContain('submission_mirror_discovery_failing{account="default"} 0')
  })
})
