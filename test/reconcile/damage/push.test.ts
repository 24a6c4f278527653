import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { fanOut, knowDestinations, tryFirst } from '../../ops/cli/push-rig.ts'
import { onSqlite } from '../../tools/databases.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

describe.each(onSqlite)('undelivered changes, on $name', (database) => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'submission-mirror-damage-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function withDestination(rig: DamageRig) {
    const path = join(folder, 'mirror.yaml')
    const ams = { name: 'ams', kind: 'webhook', url: 'https://ams.example', secret: '${AMS_SECRET}' }
    writeFileSync(path, JSON.stringify({ destinations: [{ ...ams, accounts: [ACCOUNT], entities: ['market_events'] }] }))
    Object.assign(rig.env, { CONFIG_FILE: path, AMS_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}` })
    return knowDestinations(rig.db, rig.env)
  }

  async function withDeadLetter() {
    const rig = await DamageRig.open(database)
    const destinations = await withDestination(rig)
    const event = rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', rig.plain)
    await fanOut(rig.db, destinations)
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    return { rig, event, destinations }
  }

  it('are reported with the error if they may have arrived', async () => {
    const { rig, event } = await withDeadLetter()
    await rig.command('outbox', 'retry', '--destination', 'ams')
    await tryFirst(rig.db, 'ams', { state: 'unknown', error: 'a try may have been made before a backup was restored' })
    const { findings, out } = await rig.reconcile()
    expect(findingTexts(findings)).toContain(`undelivered market_events ${event.id} ams`)
    expect(out.replace(/\s+/g, ' ')).toContain(
      'market_events.insert may have reached ams: a try may have been made before a backup was restored; check there, then skip or retry it',
    )
  })

  it("are reported without the destination's answer, which may repeat data", async () => {
    const { rig, event } = await withDeadLetter()
    await rig.command('outbox', 'retry', '--destination', 'ams')
    await tryFirst(rig.db, 'ams', { state: 'dead', status: 422, error: 'it answered 422 (Dear Jane, no such lane)' })
    const { findings } = await rig.reconcile()
    const [mine] = findings.filter(({ entity_id }) => entity_id?.includes(event.id))
    expect(mine?.detail).toBe('market_events.insert was dead-lettered for ams after 3 attempts: it answered 422 ••••')
  })

  it('are new once, then known, and gone after delivery', async () => {
    const { rig, event } = await withDeadLetter()
    const first = await rig.reconcile()
    expect(findingTexts(first.findings)).toContain(`undelivered market_events ${event.id} ams`)
    expect(first.run).toMatchObject({ missing: 0, different: 0, absent: 0, unreadable: 0, undelivered: first.findings.length, known: 0 })
    const second = await rig.reconcile()
    expect(findingTexts(second.findings)).toEqual(findingTexts(first.findings))
    expect(second).toMatchObject({ code: 0, run: { undelivered: 0, known: first.findings.length } })
    await rig.command('outbox', 'retry', '--destination', 'ams')
    await tryFirst(rig.db, 'ams', { state: 'delivered', status: 204, error: null })
    const third = await rig.reconcile()
    expect(findingTexts(third.findings)).not.toContain(`undelivered market_events ${event.id} ams`)
    expect(third).toMatchObject({ code: 0 })
  })

  it('are reported only for their account and submission', async () => {
    const { rig, event, destinations } = await withDeadLetter()
    rig.sandbox.addEvent(ACCOUNT, rig.rich, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', rig.rich)
    await rig.damage("update changes set changed_at = '2026-01-01T00:00:00.000000Z'")
    expect(await rig.reconcile('--submission', rig.rich)).toMatchObject({ code: 0, findings: [] })
    expect(findingTexts((await rig.reconcile('--submission', rig.plain)).findings)).toEqual([`undelivered market_events ${event.id} ams`])
    await fanOut(rig.db, destinations)
    await rig.damage("update sync_outbox set account = 'another'")
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('are sent if only their stream was lost, which a run reopens', async () => {
    const rig = await DamageRig.open(database)
    const destinations = await withDestination(rig)
    rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', rig.plain)
    await fanOut(rig.db, destinations)
    await rig.damage('delete from sync_push_streams', "update sync_outbox set queued_at = '2026-01-01T00:00:00.000000Z'")
    const dry = await rig.reconcile('--dry-run')
    expect(dry).toMatchObject({ code: 3, run: { undelivered: 1 }, out: expect.stringContaining('its stream was lost') })
    await tryFirst(rig.db, 'ams', { state: 'delivered', status: 204, error: null })
    expect(await rig.reconcile()).toMatchObject({ code: 3, run: { undelivered: 1, known: 0 } })
    await tryFirst(rig.db, 'ams', { state: 'delivered', status: 204, error: null })
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('are new again if a destination caught up and falls behind again', async () => {
    const rig = await DamageRig.open(database)
    const destinations = await withDestination(rig)
    const fallBehind = async () => {
      rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
      await rig.command('sync', rig.plain)
      await rig.damage("update changes set changed_at = '2026-01-01T00:00:00.000000Z'")
    }
    await fallBehind()
    expect(await rig.reconcile('--dry-run')).toMatchObject({ code: 3, run: { undelivered: 1, known: 0 } })
    expect(await rig.reconcile()).toMatchObject({ code: 3, run: { undelivered: 1, known: 0 } })
    await fallBehind()
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { undelivered: 0, known: 1 } })
    await fanOut(rig.db, destinations)
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
    await fallBehind()
    expect(await rig.reconcile()).toMatchObject({ code: 3, run: { undelivered: 1, known: 0 } })
  })

  it('are not expected for a removed destination', async () => {
    const rig = await DamageRig.open(database)
    await withDestination(rig)
    delete rig.env['CONFIG_FILE']
    rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', rig.plain)
    await rig.damage("update changes set changed_at = '2026-01-01T00:00:00.000000Z'")
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('are listed up to a thousand of each kind, and the rest counted', async () => {
    const rig = await DamageRig.open(database)
    await withDestination(rig)
    const names =
      'destination, account, stream, entity, entity_id, operation, cause, seq, message_id, state, attempts, uncertain, queued_at'
    await rig.damage(
      `insert into sync_outbox (${names})
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 1003)
        select 'ams', '${ACCOUNT}', 'lane-' || n, 'lanes', '[]', 'insert', 'poll', n, 'message-' || n, 'dead', 1, 0,
          (select min(changed_at) from changes) from numbers`,
    )
    const ended = await rig.reconcile()
    expect(ended).toMatchObject({ code: 3, run: { undelivered: 1_001 } })
    const found = rig.db.read.sql.selectFrom('reconcile_findings').select(['seq', 'detail']).where('run_id', '=', ended.run.run_id)
    const rows = await found.execute()
    expect(new Set(rows.map(({ seq }) => seq)).size).toBe(1_001)
    expect(rows.find(({ seq }) => seq === null)?.detail).toMatch(/^3 more changes have not reached destination ams; /)
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { undelivered: 0, known: 1_001 } })
  })
})
