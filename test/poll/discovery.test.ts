import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { submissions } from '../../src/model/entities/submissions.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import { findAccount } from '../../src/store/reads/accounts.ts'
import { addPaths, discoveryStatus, shortenPathWaits } from '../../src/store/reads/path-reads.ts'
import type { PathReadsTable } from '../../src/store/schema/reads.ts'
import { runSql, type TestDatabase, testDatabases } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { uuid } from '../tools/observations.ts'
import { HOUR, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'
const LIST = '/broker/submissions'
const INSUREDS = ['/broker/insureds', '/broker/insureds/{insured_id}']

async function open(database: TestDatabase, options: SandboxOptions = { lists: true }): Promise<Rig> {
  const rig = await Rig.open(database, { sandbox: options })
  rig.startPoller()
  await rig.until('the brokerage is pinned', async () => (await findAccount(rig.db.read, ACCOUNT))?.brokerage != null)
  return rig
}

async function probesOf(rig: Rig): Promise<PathReadsTable[]> {
  return rig.db.read.sql.selectFrom('sync_path_reads').selectAll().orderBy('path').execute()
}

async function discover(rig: Rig, paths: readonly string[], maxNew?: number, idFields?: Readonly<Record<string, string>>): Promise<void> {
  const running = rig.startDiscovery(paths, { maxNew, ...(idFields && { idFields }) })
  await rig.until('nothing is left to be probed', async () => {
    const rows = await probesOf(rig)
    return rows.length > 0 && rows.every((row) => row.lease_token === null && row.due_at > timeFromMs(Date.now()))
  })
  await running.stop()
}

async function passRound(rig: Rig): Promise<void> {
  await runSql(rig.db, sql`update sync_path_reads set due_at = ${timeFromMs(0)}`)
}

async function trackedVia(rig: Rig): Promise<Record<string, unknown>> {
  const rows = await rowsOf(rig.db, submissions)
  return Object.fromEntries(rows.map((row) => [String(row['submission_id']), row['tracked_via']]))
}

describe.each(testDatabases)('discovery on $name', (database) => {
  it('trap 19: finds submissions by the configured field of listed items', async () => {
    const rig = await open(database, { lists: true, unshown: { list_id_field: 'id' } })
    const ids = Array.from({ length: 3 }, () => rig.sandbox.addSubmission(ACCOUNT))
    await discover(rig, [LIST, ...INSUREDS])
    expect((await probesOf(rig)).map(({ path, ids }) => [path, ids])).toContainEqual([LIST, 0])
    await passRound(rig)
    await discover(rig, [LIST, ...INSUREDS], undefined, { [LIST]: 'id' })
    expect(Object.keys(await trackedVia(rig)).sort()).toEqual(ids.toSorted())
  })

  it('trap 19: tracks submissions in an answer, records how they became known, and stores the answer', async () => {
    const rig = await open(database)
    const [known = '', ...others] = Array.from({ length: 4 }, () => rig.sandbox.addSubmission(ACCOUNT))
    rig.sandbox.addEvent(ACCOUNT, others[0] ?? '', { type: 'market_attached' })
    await rig.track([known])
    await discover(rig, [LIST])
    await rig.rest()
    const via = `discovery:${LIST}`
    expect(await trackedVia(rig)).toEqual({ [known]: 'command', ...Object.fromEntries(others.map((id) => [id, via])) })
    expect((await rig.read(others[0] ?? '', 'events')).last_read_at).not.toBeNull()
    expect((await changesOf(rig.db)).filter(({ entity, cause }) => entity === 'submissions' && cause === 'poll')).not.toHaveLength(0)
    const [row] = await probesOf(rig)
    expect(row).toMatchObject({ path: LIST, outcome: 'ok', failures: 0, error: null, ids: 4, found: 3 })
    expect(JSON.parse(row?.raw ?? '')).toMatchObject({ items: { length: 4 } })
    expect(rig.counted('discovered_submissions_total')).toBe(3)
    expect(rig.logged('3 new submissions were found by probing')).toBe(true)

    const before = (await changesOf(rig.db)).length
    await passRound(rig)
    await discover(rig, [LIST])
    expect(await changesOf(rig.db)).toHaveLength(before)
    expect((await probesOf(rig))[0]).toMatchObject({ ids: 4, found: 3 })
    expect(rig.asked('list')).toHaveLength(2)
  })

  it('trap 20: expands a path with ids of another answer', async () => {
    const rig = await open(database)
    const ids = ['North Gate Bakery LLC', 'South Gate Bakery LLC'].flatMap((insured_name) =>
      [1, 2].map(() => rig.sandbox.addSubmission(ACCOUNT, { facts: { insured_name } })),
    )
    await discover(rig, INSUREDS)
    expect(Object.keys(await trackedVia(rig)).sort()).toEqual([...ids].sort())
    expect(new Set(Object.values(await trackedVia(rig)))).toEqual(new Set(['discovery:/broker/insureds/{insured_id}']))
    expect(await probesOf(rig)).toMatchObject([
      { path: INSUREDS[0], ids: 0, found: 0 },
      { name: INSUREDS[1], ids: 2, found: 2 },
      { name: INSUREDS[1], ids: 2, found: 2 },
    ])
    expect(await discoveryStatus(rig.db.read, ACCOUNT, INSUREDS)).toEqual([
      { path: INSUREDS[0], paths: 1, failing: 0, limited: 0, oldest_answer_at: expect.any(String), found: 0, error: null },
      { path: INSUREDS[1], paths: 2, failing: 0, limited: 0, oldest_answer_at: expect.any(String), found: 4, error: null },
    ])
  })

  it('expands every occurrence of a key', async () => {
    const rig = await open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT, { facts: { insured_name: 'North Gate Bakery LLC' } })
    await discover(rig, [...INSUREDS, '/broker/{insured_id}/of/{insured_id}'])
    expect(Object.keys(await trackedVia(rig))).toEqual([id])
    const paths = (await probesOf(rig)).map(({ path }) => path)
    expect(paths).toEqual([expect.stringMatching(/^\/broker\/([0-9a-f-]{36})\/of\/\1$/), ...paths.slice(1)])
  })

  it.each([
    ['404', undefined],
    ['403', 403],
    ['401', 401],
    ['429', 429],
    ['500', 500],
  ] as const)('trap 21: a path with status %s does not affect the account, and is logged once', async (_, status) => {
    const rig = await open(database, { lists: status !== undefined })
    const id = rig.sandbox.addSubmission(ACCOUNT)
    await rig.track([id])
    await rig.rest()
    if (status !== undefined) rig.sandbox.faults.add({ kind: 'status', operation: 'list', status, retryAfterSeconds: 0 })
    const tokens = rig.sandbox.activity.requests.filter((one) => one.operation === 'token').length
    for (let round = 0; round < 5; round += 1) {
      await passRound(rig)
      await discover(rig, [LIST])
    }
    const [row] = await probesOf(rig)
    expect(row).toMatchObject({ failures: 5, raw: null, ids: 0 })
    expect(row?.error).toContain(`the service answered ${status ?? 404}`)
    expect((await findAccount(rig.db.read, ACCOUNT))?.state).toBe('active')
    // Each round has its own client with one token exchange; refusals caused no others.
    expect(rig.sandbox.activity.requests.filter((one) => one.operation === 'token').length - tokens).toBe(5)
    expect(rig.counted('discovery_probes_total', { outcome: 'ok' })).toBe(0)
    expect(rig.lines('for submissions of account default fails')).toHaveLength(1)
    await rig.passAndRest(24 * HOUR)
    expect(await rig.read(id, 'events')).toMatchObject({ failures: 0, rank: 1 })
    expect(rig.sandbox.activity.writes).toEqual([])
  })

  it("sends nothing for an inactive account or another brokerage's credentials", async () => {
    const rig = await Rig.open(database, { sandbox: { lists: true } })
    rig.sandbox.addSubmission(ACCOUNT)
    await runSql(rig.db, sql`update sync_accounts set brokerage = ${uuid(8, 8)}`)
    const running = rig.startDiscovery([LIST])
    await rig.until('it has asked whose account it is', () => rig.asked('me').length > 0)
    await running.stop()
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ brokerage: null, state: 'suspended' }).execute())
    const again = rig.startDiscovery([LIST])
    await rig.until('it is there', async () => (await probesOf(rig)).length === 1)
    await again.stop()
    expect(rig.asked('list')).toEqual([])
    expect(await trackedVia(rig)).toEqual({})
  })

  it('an answer that is cut off or not JSON is a temporary failure', async () => {
    const rig = await open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    for (const kind of ['html', 'cut'] as const) {
      rig.sandbox.faults.set([{ kind, operation: 'list', count: 1 }])
      await discover(rig, [LIST])
      expect((await probesOf(rig))[0]).toMatchObject({ failures: 1 })
      await passRound(rig)
      await discover(rig, [LIST])
      expect((await probesOf(rig))[0]).toMatchObject({ failures: 0, found: 1 })
      await passRound(rig)
    }
    expect(await trackedVia(rig)).toEqual({ [id]: `discovery:${LIST}` })
  })

  it('an answer adds at most the limit, and later answers the rest, with a warning', async () => {
    const rig = await open(database)
    const ids = Array.from({ length: 5 }, () => rig.sandbox.addSubmission(ACCOUNT))
    const found: unknown[] = []
    for (let round = 0; round < 3; round += 1) {
      await discover(rig, [LIST], 2)
      const [row] = await probesOf(rig)
      const [status] = await discoveryStatus(rig.db.read, ACCOUNT, [LIST])
      found.push([row?.outcome, row?.ids, row?.found, row?.failures, status?.limited])
      await passRound(rig)
    }
    expect(found).toEqual([
      ['limited', 5, 2, 0, 1],
      ['limited', 5, 4, 0, 1],
      ['ok', 5, 5, 0, 0],
    ])
    expect(Object.keys(await trackedVia(rig)).sort()).toEqual([...ids].sort())
    expect(rig.counted('discovery_probes_total', { outcome: 'limited' })).toBe(2)
    expect(rig.counted('discovered_submissions_total')).toBe(5)
    expect(rig.lines('names more than 2 unknown submissions')).toHaveLength(2)
  })

  it('a start keeps waits of failing paths, and shortens others to the settings', async () => {
    const rig = await open(database)
    const far = timeFromMs(Date.now() + 32 * HOUR)
    await rig.db.write('test', async (tx) => {
      const paths = [LIST, INSUREDS[0] ?? ''].map((path) => ({ name: path, submissionId: '', path }))
      await addPaths(tx, ACCOUNT, paths)
      await tx.sql.updateTable('sync_path_reads').set({ due_at: far }).execute()
      await tx.sql.updateTable('sync_path_reads').set({ failures: 5 }).where('path', '=', LIST).execute()
    })
    await rig.db.write('test', (tx) => shortenPathWaits(tx, ACCOUNT, [LIST, ...INSUREDS], HOUR))
    expect((await probesOf(rig)).map(({ path, due_at }) => [path, due_at === far])).toEqual([
      [INSUREDS[0], false],
      [LIST, true],
    ])
  })

  it('only one of several processes probes a path', async () => {
    const rig = await open(database)
    rig.sandbox.addSubmission(ACCOUNT)
    const handles = [rig.db, await rig.another(), await rig.another(), await rig.another()]
    const running = handles.map((db) => rig.startDiscovery([LIST], { db }))
    await rig.until('it was probed', async () => (await probesOf(rig))[0]?.outcome === 'ok')
    for (const one of running) await one.stop()
    expect(rig.asked('list')).toHaveLength(1)
  })
})
