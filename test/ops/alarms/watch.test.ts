import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { AlarmWatch } from '../../../src/ops/alarms/alarm-watch.ts'
import { knownProblems } from '../../../src/ops/status/known-now.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { noteConflicts, noteUnreadable } from '../../../src/store/mirror/conflicts.ts'
import { evaluatedAt } from '../../../src/store/operators/alarms.ts'
import { noteFilterError, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { resumeAccount, stopAccount } from '../../../src/store/reads/accounts.ts'
import { ensureReconcileRows } from '../../../src/store/reconcile/claims.ts'
import { insertRun, type RunRow } from '../../../src/store/reconcile/runs.ts'
import { readHealth } from '../../../src/store/upkeep/health.ts'
import { setUpkeepWait } from '../../../src/store/upkeep/upkeep.ts'
import { hook } from '../../config/support.ts'
import { onSqlite, runSql, silentLog } from '../../tools/databases.ts'
import { putOutbox } from '../../tools/destinations.ts'
import { applyAll, applyEach } from '../../tools/mirror.ts'
import { byPoll, byWebhook, observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'
import { ACCOUNT, HOUR, MINUTE, openWatch, SUBMISSION, type WatchRig } from './rig.ts'

const signal = new AbortController().signal
const AMS = { name: 'ams', kind: 'webhook', url: 'https://ams.test/hook', secret: '${AMS_SECRET}' }
const withAms = [{ destinations: [AMS] }, { AMS_SECRET: hook(3) }] as const

async function find(rig: WatchRig, from: number, count: number, origin = byPoll): Promise<void> {
  const occurredAt = timeFromMs(rig.clock.now())
  const events = Array.from({ length: count }, (_, n) => wireEvent(from + n, { occurred_at: occurredAt }))
  await applyEach(rig.db, events, (event) => observedEvent(ACCOUNT, SUBMISSION, event, origin))
}

async function refuse(rig: WatchRig, reason: string, count: number, account = ACCOUNT): Promise<void> {
  const store = new RejectedStore(rig.db, silentLog)
  for (let n = 0; n < count; n++) {
    store.keep({
      account,
      path: '/webhooks',
      address: '192.0.2.1',
      reason,
      headers: {},
      body: null,
      receivedAt: timeFromMs(rig.clock.now()),
    })
  }
  await store.settled()
}

/** Whether the alarm fires only after its delay. @param activity continues during the delay. */
async function staleAfterGrace(rig: WatchRig, activity: () => Promise<unknown> = async () => undefined): Promise<boolean> {
  const firing: boolean[] = []
  for (const ms of [30_000, 5 * MINUTE, 5 * MINUTE, 5 * MINUTE]) {
    await activity()
    firing.push((await rig.look(ms)).includes('state_stale'))
  }
  return firing.join() === 'false,false,false,true'
}

function newRunRow(over: Partial<RunRow> & Pick<RunRow, 'requested_at' | 'updated_at' | 'state'>): RunRow {
  const none = {
    submissions_total: 1,
    submissions_done: 1,
    rows_compared: 9,
    started_at: null,
    ended_at: null,
    exit_code: null,
    note: null,
  }
  const counts = { missing: 0, different: 0, absent: 0, unreadable: 0, undelivered: 0, lost: 0, moved: 0, repaired: 0, known: 0 }
  return { run_id: randomUUID(), account: ACCOUNT, slot: null, requested_by: 'command', options: {}, ...none, ...counts, ...over }
}

async function countHour(rig: WatchRig, hoursAgo: number, webhook: number, lost: number): Promise<void> {
  const hour = timeFromMs(Math.floor(rig.clock.now() / HOUR) * HOUR - hoursAgo * HOUR)
  await runSql(
    rig.db,
    sql`insert into arrival_counts (account, hour, entity, webhook, poll, backfill, reconcile, lost)
      values (${ACCOUNT}, ${timeValue(rig.db.read, hour)}, 'thread_messages', ${webhook}, ${lost}, 0, 0, ${lost})`,
  )
}

describe.each(onSqlite)('the watch on $name', (database) => {
  it('trap 37: detects that webhooks stopped while polls find records, says why, and that they are back', async () => {
    const rig = await openWatch(database)
    for (let n = 0; n < 30; n++) {
      await rig.deliver()
      rig.clock.advance(MINUTE)
    }
    expect(await rig.look()).not.toContain('webhook_silence')
    rig.clock.advance(5 * HOUR + 16 * MINUTE)
    await find(rig, 1, 3)
    expect(await rig.look(20 * MINUTE)).not.toContain('webhook_silence')
    expect(await rig.look(30 * MINUTE)).toContain('webhook_silence')
    expect((await rig.alarm('webhook_silence'))?.text).toMatch(
      /^account acme has received no webhook for 6 h, while polling found 3 unannounced records; check in the portal that the endpoint/,
    )
    await refuse(rig, 'wrong_signature', 3)
    expect(await rig.look()).toEqual(expect.arrayContaining(['deliveries_rejected', 'webhook_silence']))
    expect((await rig.alarm('webhook_silence'))?.text).toContain('compare WEBHOOK_SECRETS with the secret of the endpoint')
    const last = timeFromMs(rig.clock.now() - 30_000)
    expect((await rig.alarm('deliveries_rejected'))?.text).toBe(
      `3 deliveries in a row for account acme were rejected (wrong_signature), the last at ${last.slice(0, 10)} ${last.slice(11, 19)} UTC; ` +
        'compare WEBHOOK_SECRETS with the secret of the endpoint in the portal, then run `submission-mirror inbox replay --rejected`',
    )
    await rig.deliver()
    expect(await rig.lookLater()).not.toContain('webhook_silence')
    expect((await rig.alarm('webhook_silence'))?.state).toBe('resolved')
  })

  it('blames the clock for silence where nothing but the times of deliveries was wrong', async () => {
    const rig = await openWatch(database)
    await find(rig, 1, 3)
    rig.clock.advance(6 * HOUR)
    await refuse(rig, 'stale_timestamp', 1)
    expect(await rig.look(10 * MINUTE)).toContain('webhook_silence')
    expect((await rig.alarm('webhook_silence'))?.text).toMatch(/deliveries are rejected: set the clock of this machine by NTP$/)
  })

  it('detects deliveries of the account that are rejected in a row with a signature, until one is accepted', async () => {
    const rig = await openWatch(database)
    await refuse(rig, 'missing_headers', 3)
    await refuse(rig, 'wrong_signature', 3, 'another')
    await refuse(rig, 'stale_timestamp', 2)
    expect(await rig.look()).not.toContain('deliveries_rejected')
    await refuse(rig, 'stale_timestamp', 1)
    expect(await rig.look()).toContain('deliveries_rejected')
    expect((await rig.alarm('deliveries_rejected'))?.text).toMatch(
      /^3 deliveries in a row for account acme were rejected \(stale_timestamp\), .*; set the clock of this machine by NTP; nothing is lost: /,
    )
    rig.clock.advance(MINUTE)
    await rig.deliver()
    expect(await rig.lookLater()).not.toContain('deliveries_rejected')
    await refuse(rig, 'wrong_signature', 2)
    expect(await rig.look()).not.toContain('deliveries_rejected')
  })

  it('detects no silence in a quiet account, after an unreadable delivery, or for records found late', async () => {
    const rig = await openWatch(database)
    for (let n = 0; n < 30; n++) {
      await rig.deliver()
      rig.clock.advance(MINUTE)
    }
    await rig.deliver()
    await find(rig, 1, 5)
    rig.clock.advance(3 * HOUR)
    const before = timeFromMs(rig.clock.now() - 5 * HOUR)
    await applyEach(rig.db, [11, 12, 13], (n) => observedEvent(ACCOUNT, SUBMISSION, wireEvent(n, { occurred_at: before }), byPoll))
    for (let n = 0; n < 20; n++) expect(await rig.look(12 * HOUR)).not.toContain('webhook_silence')
  })

  it('detects an endpoint that never sent a delivery, after WEBHOOK_SILENCE_AFTER', async () => {
    const rig = await openWatch(database, {}, { WEBHOOK_SILENCE_AFTER: '1h' })
    await find(rig, 1, 1)
    expect(await rig.look(50 * MINUTE)).not.toContain('webhook_silence')
    expect(await rig.look(11 * MINUTE)).toContain('webhook_silence')
    expect((await rig.alarm('webhook_silence'))?.text).toMatch(/^account acme has never received a webhook/)
  })

  it('detects many lost webhooks, and ignores a few', async () => {
    const rig = await openWatch(database)
    const counts = async (webhook: number, lost: number) => {
      await runSql(rig.db, sql`delete from arrival_counts`)
      await countHour(rig, 72, 1, 0)
      await countHour(rig, 0, webhook, lost)
    }
    await counts(1, 9)
    expect(await rig.look()).not.toContain('webhook_loss')
    await counts(190, 10)
    expect(await rig.look()).not.toContain('webhook_loss')
    await counts(30, 10)
    expect(await rig.look()).toContain('webhook_loss')
    expect((await rig.alarm('webhook_loss'))?.text).toMatch(
      /^no webhook announced 10 of 40 records of account acme within a day: .*in the portal/,
    )
    await counts(50, 10)
    expect(await rig.lookLater()).toContain('webhook_loss')
    await counts(190, 10)
    expect(await rig.lookLater()).not.toContain('webhook_loss')
  })

  it('counts no webhook as lost before the first one reported a record', async () => {
    const rig = await openWatch(database)
    await countHour(rig, 5, 0, 500)
    expect(await rig.look()).not.toContain('webhook_loss')
    await countHour(rig, 4, 3, 40)
    await countHour(rig, 2, 90, 9)
    expect(await rig.look()).not.toContain('webhook_loss')
    await countHour(rig, 1, 10, 30)
    expect(await rig.look()).toContain('webhook_loss')
    expect((await rig.alarm('webhook_loss'))?.text).toContain('39 of 139 records')
  })

  it('detects suspended accounts, conflicts, unreadable items, and too large deliveries', async () => {
    const rig = await openWatch(database)
    expect(await rig.look()).toEqual([])
    await stopAccount(rig.db, ACCOUNT, 'suspended', 'the service rejects the credentials', 900_000)
    await rig.db.write('test', async (tx) => {
      const place = { account: ACCOUNT, submission_id: SUBMISSION }
      const record = { ...place, entity: 'market_events', record_id: uuid(1, 1) }
      const conflict = { ...record, fields: ['type'], identity: '[]', kept: '{}', refused: '{}' }
      await noteConflicts(tx, [{ ...conflict, via: 'poll' }], timeFromMs(rig.clock.now()))
      await noteUnreadable(tx, [{ ...place, read: 'events', raw: '{}' }], timeFromMs(rig.clock.now()))
    })
    await refuse(rig, 'body_too_large', 2)
    expect(await rig.look()).toEqual(['account_stopped', 'delivery_too_large', 'items_unreadable', 'record_conflict'])
    expect((await rig.alarm('account_stopped'))?.text).toMatch(
      /is suspended: the service rejects the credentials; .*`submission-mirror account resume acme`$/,
    )
    expect((await rig.alarm('delivery_too_large'))?.text).toMatch(
      /^2 deliveries for account acme were rejected .*WEBHOOK_BODY_LIMIT; raise WEBHOOK_BODY_LIMIT/,
    )
    await resumeAccount(rig.db, ACCOUNT)
    expect(await rig.lookLater()).not.toContain('account_stopped')
    rig.clock.advance(24 * HOUR)
    await runSql(rig.db, sql`delete from sync_reads`)
    expect(await rig.lookLater()).toEqual([])
  })

  it('detects waiting and dead-lettered deliveries', async () => {
    const rig = await openWatch(database)
    await rig.deliver(3)
    expect(await rig.look(2 * MINUTE)).toEqual([])
    expect(await rig.look(5 * MINUTE)).toEqual(['inbox_backlog'])
    expect((await rig.alarm('inbox_backlog'))?.text).toContain('3 deliveries wait to be processed, the oldest for 7 min')
    await runSql(rig.db, sql`update sync_inbox set state = 'dead' where inbox_id = 1`)
    await runSql(rig.db, sql`update sync_inbox set state = 'done' where inbox_id > 1`)
    expect(await rig.lookLater()).toEqual(['inbox_dead'])
    expect((await rig.alarm('inbox_dead'))?.text).toMatch(
      /^1 delivery of account acme is dead-lettered; .*`submission-mirror inbox replay --account acme --state dead`$/,
    )
  })

  it('detects late reads, an unavailable service, and stale submissions', async () => {
    const rig = await openWatch(database)
    const now = () => timeValue(rig.db.read, timeFromMs(rig.clock.now()))
    const ago = (ms: number) => timeValue(rig.db.read, timeFromMs(rig.clock.now() - ms))
    const fresh = () => runSql(rig.db, sql`update sync_reads set last_read_at = ${now()}, due_at = ${now()}, rank = 1, failures = 0`)
    await fresh()
    expect(await rig.look()).toEqual([])
    for (let n = 0; n < 11; n++) {
      await fresh()
      await runSql(rig.db, sql`update sync_reads set due_at = ${ago(20 * MINUTE)} where read = 'thread'`)
      await rig.look(MINUTE)
    }
    expect(await rig.look(0)).toEqual(['reads_overdue'])
    await fresh()
    await runSql(rig.db, sql`update sync_reads set rank = 2, failures = 4, last_read_at = ${ago(16 * MINUTE)}`)
    expect(await rig.lookLater()).toEqual(['service_unavailable'])
    await fresh()
    expect(await rig.lookLater()).toEqual([])
    await runSql(rig.db, sql`update sync_reads set rank = 2, failures = 12 where read = 'events'`)
    const othersAreRead = () => runSql(rig.db, sql`update sync_reads set last_read_at = ${now()} where read = 'requirements'`)
    expect(await staleAfterGrace(rig, othersAreRead)).toBe(true)
    expect((await rig.alarm('state_stale'))?.text).toMatch(/^1 read of account acme has failed for half an hour or more/)
    await fresh()
    expect(await rig.lookLater()).toEqual([])
    await runSql(rig.db, sql`update sync_reads set rank = 2, stalled_feed_reads = 60 where read = 'thread'`)
    expect(await staleAfterGrace(rig, othersAreRead)).toBe(true)
    await runSql(rig.db, sql`update sync_reads set stalled_feed_reads = 0`)
    // 404 is no failure: a mistyped id raises no alarm, and many missing submissions don't hide a failing one.
    const gone = Array.from({ length: 300 }, (_, n) => trackFact(ACCOUNT, uuid(8, n)))
    await applyAll(rig.db, gone)
    await runSql(rig.db, sql`update sync_reads set rank = 2, failures = 0, not_found = 9, last_read_at = ${ago(90 * 24 * HOUR)}`)
    await runSql(rig.db, sql`update sync_reads set last_read_at = ${ago(95 * 24 * HOUR)} where submission_id <> ${SUBMISSION}`)
    await runSql(rig.db, sql`update submissions set unreachable_since = ${now()}`)
    expect(await rig.lookLater()).toEqual([])
    await runSql(rig.db, sql`update submissions set unreachable_since = null where submission_id = ${SUBMISSION}`)
    expect(await staleAfterGrace(rig)).toBe(true)
    expect((await rig.alarm('state_stale'))?.text).toMatch(/has not been read for 90 d, longer than POLL_DORMANT allows/)
  })

  it('detects a service that has answered no read since the account was first served', async () => {
    const rig = await openWatch(database)
    await ensureReconcileRows(rig.db, [ACCOUNT])
    const due = () => runSql(rig.db, sql`update sync_reads set due_at = ${timeValue(rig.db.read, timeFromMs(rig.clock.now()))}`)
    await due()
    await runSql(rig.db, sql`update sync_reads set rank = 2, failures = 3`)
    expect(await rig.look(10 * MINUTE)).toEqual([])
    await rig.look(6 * MINUTE)
    expect(await rig.look(5 * MINUTE)).toEqual(['service_unavailable'])
    expect((await rig.alarm('service_unavailable'))?.text).toMatch(
      /^no read of account acme has succeeded since its first start 2\d min ago; run `submission-mirror doctor` to check service,/,
    )
    await due()
    await runSql(rig.db, sql`update sync_reads set last_read_at = due_at, rank = 1, failures = 0`)
    expect(await rig.lookLater()).toEqual([])
    // Nothing is tracked, so the credentials can't be checked.
    await runSql(rig.db, sql`delete from sync_reads`)
    await runSql(rig.db, sql`update sync_accounts set brokerage = null`)
    await rig.look()
    expect(await rig.look(5 * MINUTE)).toEqual(['service_unavailable'])
  })

  it('lets the program catch up after it was down before it reports overdue work', async () => {
    const rig = await openWatch(database, { reconcile: { cron: '0 3 * * *' } })
    const ago = (ms: number) => timeValue(rig.db.read, timeFromMs(rig.clock.now() - ms))
    const down = 90 * 24 * HOUR
    await ensureReconcileRows(rig.db, [ACCOUNT])
    await runSql(rig.db, sql`update sync_reconcile set since = ${ago(down)}`)
    await runSql(rig.db, sql`update sync_reads set last_read_at = ${ago(0)}, due_at = ${ago(20 * MINUTE)}, rank = 2, failures = 12`)
    await rig.look()
    expect((await rig.alarm('state_stale'))?.state).toBe('pending')
    expect(await rig.look(down)).toEqual([])
    for (const name of ['state_stale', 'reconcile_overdue']) expect(await rig.look(5 * MINUTE)).not.toContain(name)
    const now = timeFromMs(rig.clock.now())
    await runSql(rig.db, sql`update sync_reads set last_read_at = ${ago(0)}, due_at = ${ago(0)}, rank = 1, failures = 0`)
    await rig.db.write('test', (tx) =>
      insertRun(tx, newRunRow({ requested_at: now, started_at: now, updated_at: now, state: 'running', requested_by: 'cron' })),
    )
    expect(await rig.lookLater()).toEqual([])
    for (const name of ['state_stale', 'reconcile_overdue']) expect((await rig.alarm(name))?.state).not.toBe('resolved')
  })

  it('detects that clocks disagree and that retention waits, and says what waits', async () => {
    const rig = await openWatch(database)
    await runSql(rig.db, sql`delete from sync_reads`)
    rig.world.clocks = {
      ...rig.world.clocks,
      isTrusted: false,
      apart: [{ clock: 'the database server', aheadMs: 500 * 24 * HOUR }],
      doubt: 'x',
    }
    await setUpkeepWait(rig.db, 'retention', 'the clocks disagree')
    expect(await rig.look()).toEqual(['retention_waits'])
    expect(await rig.look(5 * MINUTE)).toEqual(['clocks_disagree', 'retention_waits'])
    expect((await rig.alarm('clocks_disagree'))?.text).toMatch(
      /^the clocks disagree: the clock of this machine is 500 days ahead of the database server; until they agree, retention waits/,
    )
    expect((await rig.alarm('retention_waits'))?.text).toMatch(/`submission-mirror retention run --confirm`$/)
    rig.world.clocks = { apart: [], isTrusted: true, isConfirmed: true, doubt: null }
    await setUpkeepWait(rig.db, 'retention', null)
    expect(await rig.lookLater()).toEqual([])
  })

  it('detects a wrong clock and a full disk, without flapping', async () => {
    const rig = await openWatch(database)
    await runSql(rig.db, sql`delete from sync_reads`)
    rig.world.skewMs = -90_000
    expect(await rig.look()).toEqual([])
    expect(await rig.look(5 * MINUTE)).toEqual(['clock_skew'])
    expect((await rig.alarm('clock_skew'))?.text).toMatch(
      /^the clock of this machine is 90 s ahead of the service's clock; .* every delivery is rejected; set it by NTP/,
    )
    rig.world.skewMs = null
    expect(await rig.lookLater()).toEqual(['clock_skew'])
    rig.world.skewMs = 2_000
    rig.world.freeBytes = 4.9 * 1024 ** 3
    expect(await rig.lookLater()).toEqual(['disk_space'])
    expect((await rig.alarm('disk_space'))?.text).toMatch(/^4\.9 GiB of 200\.0 GiB are free/)
    rig.world.freeBytes = 300 * 1024 ** 2
    expect(await rig.lookLater()).toEqual(['disk_space'])
    expect((await rig.alarm('disk_space'))?.text).toMatch(/^300 MiB of 200\.0 GiB are free/)
    rig.world.freeBytes = 5.5 * 1024 ** 3
    expect(await rig.lookLater()).toEqual(['disk_space'])
    rig.world.freeBytes = 7 * 1024 ** 3
    expect(await rig.lookLater()).toEqual([])
  })

  it('reports what a destination lacks until it is sent again', async () => {
    const rig = await openWatch(database, ...withAms)
    await runSql(rig.db, sql`delete from sync_reads`)
    await runSql(rig.db, sql`update sync_destinations set cursor = (select last_seq from mirror_info)`)
    const answered = (result: string) => sql`
      insert into sync_push_verifications (destination, account, message_id, entity, entity_id, verified_at, result)
      values ('ams', ${ACCOUNT}, ${uuid(8, 1)}, 'market_events', '[]', ${timeValue(rig.db.read, timeFromMs(rig.clock.now()))}, ${result})`
    await runSql(rig.db, answered('lacks'))
    expect(await rig.look()).toEqual(['destination_lacks'])
    expect((await rig.alarm('destination_lacks'))?.text).toBe(
      'destination ams lacks 1 delivered change; find out why; to send them again, add `--repair` to `submission-mirror destination verify ams`',
    )
    await runSql(rig.db, sql`update sync_push_verifications set repaired_at = verified_at`)
    expect(await rig.lookLater()).toEqual([])
  })

  it('detects problems of destinations', async () => {
    const rig = await openWatch(database, ...withAms)
    await runSql(rig.db, sql`delete from sync_reads`)
    await runSql(rig.db, sql`update sync_destinations set cursor = (select last_seq from mirror_info)`)
    expect(await rig.look()).toEqual([])
    await setDestinationState(rig.db, 'ams', 'suspended', 'answered 410')
    await putOutbox(rig.db, 'ams', { dead: 1, unknown: 2 })
    expect(await rig.look()).toEqual(['destination_stopped', 'push_dead', 'push_unknown'])
    expect((await rig.alarm('push_dead'))?.text).toMatch(/^1 change for destination ams is dead-lettered/)
    expect((await rig.alarm('push_unknown'))?.text).toMatch(
      /^2 changes for destination ams have an unknown outcome; look for each in the AMS, then skip or retry it; .*`submission-mirror outbox list/,
    )
    expect((await rig.alarm('destination_stopped'))?.text).toMatch(
      /^destination ams is suspended: answered 410; sending stops until you resume it; fix the reason, then `submission-mirror destination resume ams`$/,
    )
    await setDestinationState(rig.db, 'ams', 'paused', 'paused by an operator')
    await putOutbox(rig.db, 'ams', {})
    expect(await rig.lookLater()).toEqual([])
    expect(await rig.look(24 * HOUR)).toEqual(['destination_stopped'])
    await setDestinationState(rig.db, 'ams', 'active', null)
    expect(await rig.lookLater()).toEqual([])
  })

  it('detects changes that are not sent, and separately those that wait for a client of the AMS', async () => {
    const rig = await openWatch(database, ...withAms)
    await runSql(rig.db, sql`delete from sync_reads`)
    const queue = async (stream: string, blocked: string | null) => {
      const now = timeValue(rig.db.read, timeFromMs(rig.clock.now()))
      await runSql(
        rig.db,
        sql`insert into sync_outbox (destination, account, stream, entity, entity_id, operation, cause, seq, message_id, state, attempts, uncertain, queued_at)
          values ('ams', ${ACCOUNT}, ${stream}, 'lanes', '[]', 'insert', 'poll', 1, ${randomUUID()}, 'ready', 0, 0, ${now})`,
      )
      await runSql(
        rig.db,
        sql`insert into sync_push_streams (destination, account, stream, due_at, blocked) values ('ams', ${ACCOUNT}, ${stream}, ${now}, ${blocked})`,
      )
      await runSql(rig.db, sql`update sync_destinations set cursor = (select last_seq from mirror_info)`)
    }
    await queue('stream-1', 'unmapped')
    for (const ms of [30_000, HOUR, HOUR]) expect(await rig.look(ms)).toEqual([])
    await queue('stream-2', null)
    for (const ms of [MINUTE, 5 * MINUTE]) expect(await rig.look(ms)).toEqual([])
    await rig.look(10 * MINUTE)
    expect(await rig.look(5 * MINUTE)).toEqual(['push_late'])
    expect((await rig.alarm('push_late'))?.text).toBe(
      'the oldest change for destination ams has waited for 21 min; `submission-mirror doctor --destination ams` shows why',
    )
    await runSql(rig.db, sql`update sync_outbox set state = 'delivered' where stream = 'stream-2'`)
    await runSql(rig.db, sql`delete from sync_push_streams where stream = 'stream-2'`)
    expect(await rig.lookLater()).toEqual([])
    expect(await rig.look(22 * HOUR)).toEqual(['push_unmapped'])
    await find(rig, 1, 1, byWebhook)
    await rig.look(16 * MINUTE)
    expect(await rig.look(5 * MINUTE)).toContain('push_late')
  })

  it('detects a failing filter, its change and the reason, and does not report its changes as late', async () => {
    const rig = await openWatch(database, ...withAms)
    await runSql(rig.db, sql`delete from sync_reads`)
    await find(rig, 1, 1, byWebhook)
    await noteFilterError(rig.db, 'ams', 'change 7, lanes update: filter failed: it is no number')
    await rig.look(16 * MINUTE)
    expect(await rig.look(5 * MINUTE)).toEqual(['filter_failed'])
    expect((await rig.alarm('filter_failed'))?.text).toBe(
      'the filter of destination ams fails, so its changes wait (change 7, lanes update: filter failed: it is no number); fix `filter` in the settings, and reload',
    )
    await noteFilterError(rig.db, 'ams', null)
    await runSql(rig.db, sql`update sync_destinations set cursor = (select last_seq from mirror_info)`)
    expect(await rig.lookLater()).toEqual([])
  })

  it('detects the oldest of many submissions that wait for a client, even if it was requested again just now', async () => {
    const rig = await openWatch(database, ...withAms)
    await runSql(rig.db, sql`delete from sync_reads`)
    const at = (ms: number) => timeValue(rig.db.read, timeFromMs(rig.clock.now() + ms))
    const numbers = sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 300)`
    const isOldest = sql`n = 1`
    await runSql(
      rig.db,
      sql`insert into sync_outbox (destination, account, stream, entity, entity_id, operation, cause, seq, message_id, state, attempts, uncertain, queued_at)
        ${numbers} select 'ams', ${ACCOUNT}, 'stream-' || (1000 - n), 'lanes', '[]', 'insert', 'poll', 1, 'message-' || n, 'ready', 0, 0,
          case when ${isOldest} then ${at(-25 * HOUR)} else ${at(0)} end from numbers`,
    )
    await runSql(
      rig.db,
      sql`insert into sync_push_streams (destination, account, stream, due_at, blocked)
        ${numbers} select 'ams', ${ACCOUNT}, 'stream-' || (1000 - n), case when ${isOldest} then ${at(HOUR)} else ${at(0)} end, 'unmapped'
        from numbers order by n desc`,
    )
    await runSql(rig.db, sql`update sync_destinations set cursor = (select last_seq from mirror_info)`)
    expect(await rig.look()).toEqual(['push_unmapped'])
  })

  it('detects the result of the last reconcile run, and a missing run', async () => {
    const rig = await openWatch(database, { reconcile: { cron: '0 3 * * *' } })
    await runSql(rig.db, sql`delete from sync_reads`)
    const run = async (over: Partial<RunRow>) => {
      const now = timeFromMs(rig.clock.now())
      const times = { requested_at: now, started_at: now, updated_at: now, ended_at: now }
      const row = newRunRow({ ...times, state: 'done', exit_code: 0, ...over })
      await rig.db.write('test', (tx) => insertRun(tx, row))
    }
    await run({ missing: 2, different: 1, repaired: 3 })
    expect(await rig.look()).toEqual(['reconcile_findings'])
    expect((await rig.alarm('reconcile_findings'))?.text).toMatch(
      /found 3 differences \(2 missing, 1 different, 0 absent, 0 lost from the change log\) and repaired 3; `submission-mirror reconcile show [\w-]+` lists them/,
    )
    await run({ state: 'failed', exit_code: 1, note: 'the service does not answer' })
    expect(await rig.lookLater()).toEqual(['reconcile_failed'])
    await run({})
    expect(await rig.lookLater()).toEqual([])
    // A read that nothing served yet isn't overdue, nor is one served since.
    await rig.look(30 * HOUR)
    expect(await rig.look()).toEqual([])
    await ensureReconcileRows(rig.db, [ACCOUNT])
    const lately = timeValue(rig.db.read, timeFromMs(rig.clock.now()))
    await runSql(rig.db, sql`update sync_reconcile set since = ${lately}`)
    expect(await rig.look()).toEqual([])
    expect(await rig.look(26 * HOUR)).toEqual([])
    const some: RunRow['options'][] = [{ submissions: [SUBMISSION] }, { since: timeFromMs(0) }, { active_only: true }]
    for (const options of [...some, { dry_run: true }, { no_state: true }]) await run({ options })
    for (const _ of [5, 10]) expect(await rig.look(5 * MINUTE)).toEqual([])
    expect(await rig.look(5 * MINUTE)).toEqual(['reconcile_overdue'])
    expect((await rig.alarm('reconcile_overdue'))?.text).toMatch(
      /^a reconcile run of account acme was due at \d{4}-\d\d-\d\d 03:00:00 UTC, but no run has started/,
    )
    await run({ state: 'running', ended_at: null, exit_code: null, options: { concurrency: 2 } })
    for (let n = 0; n < 20; n++) await run({ options: some[0] ?? {} })
    expect(await rig.lookLater()).toEqual([])
  })

  it('ends with its condition', async () => {
    const rig = await openWatch(database)
    rig.world.freeBytes = 1
    expect(await rig.look()).toEqual(['disk_space'])
    rig.world.freeBytes = 100 * 1024 ** 3
    expect(await rig.look()).toEqual([])
    expect((await readHealth(rig.db.read)).alarms).toEqual([])
  })

  it('needs attention for clocks that are apart as soon as they are known to be, before the alarm fires', async () => {
    const rig = await openWatch(database)
    rig.world.skewMs = -90_000
    rig.world.clocks = { ...rig.world.clocks, doubt: 'the machine slept' }
    expect(await rig.look()).toEqual([])
    const known = await knownProblems(rig.db.readNoWait, rig.config, await readHealth(rig.db.read))
    expect(known.map(({ name }) => name).sort()).toEqual(['clock_skew', 'clocks_disagree'])
  })

  it('is one of several, and another follows when it is gone', async () => {
    const rig = await openWatch(database)
    const other = new AlarmWatch(rig.parts)
    expect(await rig.watch.evaluate(signal)).not.toBeNull()
    expect(await other.evaluate(signal)).toBeNull()
    const stopping = AbortSignal.abort()
    await rig.watch.run(stopping)
    await runSql(rig.db, sql`update sync_alarm_watch set lease_until = ${timeValue(rig.db.read, timeFromMs(0))}`)
    expect(await other.evaluate(signal)).not.toBeNull()
    expect(await rig.watch.evaluate(signal)).toBeNull()
  })

  it('ends alarms about removed objects, and keeps those that could not be evaluated', async () => {
    const rig = await openWatch(database, ...withAms)
    await runSql(rig.db, sql`delete from sync_reads`)
    await runSql(rig.db, sql`update sync_destinations set cursor = (select last_seq from mirror_info)`)
    await putOutbox(rig.db, 'ams', { dead: 1 })
    const full = new AlarmWatch({ ...rig.parts, diskSpace: () => Promise.resolve({ freeBytes: 1, sizeBytes: 1_000 }) })
    await full.evaluate(signal)
    expect((await rig.alarm('disk_space'))?.state).toBe('firing')
    const blind = new AlarmWatch({
      ...rig.parts,
      diskSpace: () => Promise.reject(new Error('EACCES')),
      config: { ...rig.config, destinations: [] },
    })
    await runSql(rig.db, sql`update sync_alarm_watch set lease_until = ${timeValue(rig.db.read, timeFromMs(0))}`)
    for (let n = 0; n < 3; n++) {
      rig.clock.advance(5 * MINUTE)
      await blind.evaluate(signal)
    }
    expect((await rig.alarm('push_dead'))?.state).toBe('resolved')
    expect((await rig.alarm('disk_space'))?.state).toBe('firing')
  })

  it("treats a writable store as available, and sees waiting deliveries while their content can't be read", async () => {
    const rig = await openWatch(database)
    await rig.deliver(1)
    const slow = () => Promise.reject(new TransientError('another transaction held a lock for too long'))
    const watch = new AlarmWatch({ ...rig.parts, diskSpace: slow })
    // Any statement error does it, such as a lock on the table after ten seconds.
    await runSql(rig.db, sql`alter table thread_messages rename to elsewhere`)
    for (const ms of [0, 2 * MINUTE, 5 * MINUTE]) {
      rig.clock.advance(ms)
      expect(await watch.evaluate(signal)).not.toBeNull()
    }
    expect((await rig.alarm('inbox_backlog'))?.state).toBe('firing')
    expect(await rig.alarm('store_unavailable')).toBeUndefined()
    expect(await evaluatedAt(rig.db.read)).toBeNull()
    await runSql(rig.db, sql`alter table elsewhere rename to thread_messages`)
    await runSql(rig.db, sql`update sync_alarm_watch set lease_until = ${timeValue(rig.db.read, timeFromMs(0))}`)
    await rig.watch.evaluate(signal)
    expect(await evaluatedAt(rig.db.read)).not.toBeNull()
  })

  it('takes an outage of the store into it when it is back', async () => {
    const rig = await openWatch(database)
    await runSql(rig.db, sql`delete from sync_reads`)
    const away = { now: false }
    const db: Db = Object.create(rig.db, {
      write: {
        value: (...args: Parameters<Db['write']>) =>
          away.now ? Promise.reject(new TransientError('the disk is full')) : rig.db.write(...args),
      },
    })
    const watch = new AlarmWatch({ ...rig.parts, db })
    await watch.evaluate(signal)
    away.now = true
    for (let n = 0; n < 4; n++) {
      rig.clock.advance(30_000)
      expect(await watch.evaluate(signal)).toBeNull()
    }
    away.now = false
    rig.clock.advance(30_000)
    await watch.evaluate(signal)
    expect(await rig.alarm('store_unavailable')).toMatchObject({
      state: 'firing',
      text: 'the database cannot be written (the disk is full), so deliveries are answered 503; free disk space, or check that the database runs and that no other program holds a lock on it',
    })
    rig.clock.advance(10_000)
    await watch.evaluate(signal)
    expect((await rig.alarm('store_unavailable'))?.state).toBe('resolved')
  })
})
