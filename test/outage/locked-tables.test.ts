import { sql } from 'kysely'
import pg from 'pg'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { StoreGauges } from '../../src/ops/metrics/store-gauges.ts'
import { showFix } from '../../src/ops/operations/index.ts'
import { readOverview } from '../../src/ops/operations/overview.ts'
import { readStatus } from '../../src/ops/status/status.ts'
import { statusText } from '../../src/ops/status/status-text.ts'
import { SumKeeper } from '../../src/ops/status/sum-keeper.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { ensureAccounts, pinBrokerage } from '../../src/store/reads/accounts.ts'
import { hook, withSettings } from '../config/support.ts'
import { postgresDatabase, silentLog } from '../tools/databases.ts'
import { applyAll } from '../tools/mirror.ts'
import { trackFact, uuid } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'

const ACCOUNT = 'default'
const account = {
  name: ACCOUNT,
  default: true,
  base_url: 'https://api.service.test/api/v1',
  client_credentials: [{ id: 'bac_one', secret: 'bas_one-secret' }],
  webhook_secrets: [hook(1)],
}

/** A complete, fresh mirror, and a session that holds a table's strongest lock until the test ends. */
async function scene(table: string) {
  const { db, config: database } = await closedAtEnd(postgresDatabase.open())
  await ensureAccounts(db, [ACCOUNT])
  await pinBrokerage(db, ACCOUNT, { brokerage: 'brokerage', clientId: 'bac_one' })
  await applyAll(db, [trackFact(ACCOUNT, uuid(9, 1))])
  await db.write('test', (tx) =>
    tx.run(sql`update sync_reads set last_read_at = ${timeFromMs(Date.now())}, due_at = ${timeFromMs(Date.now() + 3_600_000)}`),
  )
  if (database.kind !== 'postgres') throw new Error('not Postgres')
  const config = loadConfig(withSettings({ accounts: [account] }, { DATABASE_URL: database.url.reveal() }))
  const overview = () => readOverview(db, { ...config, accounts: [], destinations: [] }, showFix)
  const status = () => readStatus(db, { version: '1', config: { ...config, accounts: [], destinations: [] }, showFix, isTerminal: true })
  await until('the mirror is complete', async () => (await overview()).verdict === 'complete')
  await new SumKeeper({ db, clock: db.clock, log: silentLog, database }).count(db)
  const holder = new pg.Client({ connectionString: database.url.reveal() })
  await holder.connect()
  onTestFinished(() => holder.end())
  await holder.query(`begin; lock table ${pg.escapeIdentifier(database.schema)}.${table} in access exclusive mode`)
  return { db, config, overview, status }
}

describe('reports of health while a table is locked', () => {
  it.each([
    ['sync_inbox', 'the inbox', /^Unknown: could not be read: .*the inbox/],
    ['sync_accounts', 'accounts', /could not be read: .*accounts/],
    ['sync_reads', `account ${ACCOUNT}`, /could not be read: .*(account default|more)/],
    ['alarms', 'alarms', /could not be read: alarms/],
    ['mirror_info', 'the change log', /could not be read: .*the change log/],
  ])('with %s: they are partial, name what could not be read, and never say fresh', async (table, part, sentence) => {
    const { overview, status } = await scene(table)
    for (const report of [await overview(), await status()]) {
      expect(report.verdict).not.toBe('complete')
      expect(report.sentence).toMatch(sentence)
      expect(report.unread.map((each) => each.part)).toContain(part)
    }
  })

  it('with market_events, whose waiting writes have every connection: all that is not in it is reported', async () => {
    const { db, config, overview, status } = await scene('market_events')
    const item = {
      account: ACCOUNT,
      deliveryId: 'msg_1',
      receivedAt: timeFromMs(Date.now() - 120_000),
      headers: {},
      body: Buffer.from('{}'),
      secret: 1,
    }
    await new InboxAppender(db).append([item])
    const waiting = Array.from({ length: 8 }, () =>
      db.write('test', (tx) => tx.sql.selectFrom('market_events').select('event_id').limit(1).execute()).catch(() => undefined),
    )
    onTestFinished(async () => void (await Promise.all(waiting)))
    expect(await overview()).toMatchObject({ verdict: 'catching_up', inbox: { count: 1, oldest_at: item.receivedAt }, unread: [] })
    const shown = await status()
    expect(shown.unread.map(({ part }) => part)).toEqual(['the counts of rows'])
    expect(shown.accounts).toMatchObject([{ account: ACCOUNT, submissions: 1 }])
    expect(statusText(shown, Date.now(), 100)).toMatch(/the counts were made .* ago/)
    expect(shown.sentence).toMatch(/^Catching up: 1 delivery waits, the oldest for 2 min; could not be read: the counts of rows/)
    const registry = new Registry()
    await new StoreGauges(registry, db, silentLog, () => config, { storeFault: async () => null }).refresh()
    const metrics = await registry.metrics()
    expect(metrics).toMatch(/inbox_oldest_seconds\{state="ready"\} 12\d/)
    expect(metrics).toContain('submission_mirror_store_up 1')
    expect(metrics).not.toContain('unread_parts{')
  })
})
