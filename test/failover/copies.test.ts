import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { replicationNotes } from '../../src/ops/status/replication.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { serverRoles } from '../../src/store/postgres/server-roles.ts'
import { awaitedStandbys, readReplication } from '../../src/store/upkeep/replication.ts'
import { json, runHere } from '../app/run.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { newPostgres, openAgain } from '../tools/databases.ts'
import { type Server, startPostgres } from '../tools/postgres-server.ts'
import { ask, REPLICATED, startStandby, waitFor } from '../tools/postgres-standby.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'

let primary: Server
let standby: Server
let config: Extract<DatabaseConfig, { kind: 'postgres' }>
let db: Db

beforeAll(async () => {
  primary = await startPostgres({ fsync: false, settings: REPLICATED })
  config = newPostgres(primary.url).config
  db = await openAgain(config)
  await migrate(db)
})
afterAll(async () => {
  await db.close()
  await standby?.remove()
  await primary.remove()
})

async function notes(of: Db = db): Promise<[ok: boolean | null, text: string][]> {
  const replication = await readReplication(of.read)
  return replication === null ? [] : replicationNotes(replication).map(({ ok, text }) => [ok, text])
}

it('describes a single server as a plain fact', async () => {
  expect(await notes()).toEqual([[true, 'an acknowledged delivery is stored on 1 server; no standby follows it']])
})

describe('with a standby', () => {
  beforeAll(async () => {
    standby = await startStandby(primary, 'db2', { fsync: false })
  })
  beforeEach(() => waitFor(primary, ''))

  it('warns of one for which no commit waits', async () => {
    const [[ok, text] = []] = await notes()
    expect([ok, text]).toEqual([
      false,
      expect.stringMatching(/^an acknowledged delivery is stored on 1 server: 1 standby \(db2\) follows, but commits/),
    ])
  })

  it('says that a delivery is on two servers, and when the standby is away that nothing is acknowledged', async () => {
    await waitFor(primary, 'FIRST 1 (db2)')
    await until('it is synchronous', async () => (await notes())[0]?.[0])
    expect(await notes()).toEqual([[true, 'an acknowledged delivery is stored on 2 servers (synchronous_standby_names = FIRST 1 (db2))']])
    await waitFor(primary, 'db3')
    await until('it is no longer', async () => (await notes())[0]?.[0] === false)
    expect((await notes())[0]?.[1]).toMatch(
      /^commits wait for a missing standby, .*: 0 of 1 standby is connected \(synchronous_standby_names = db3\)/,
    )
  })

  it('says what its role may not see', async () => {
    await ask(primary, async (client) => {
      await client.query("create role plain login password 'x'")
      await client.query(`grant usage on schema ${config.schema} to plain`)
    })
    await waitFor(primary, 'db2')
    const url = { reveal: () => primary.url.replace(/\/\/.*@/, '//plain:x@') }
    const plain = await openAgain({ ...config, url, listenUrl: url })
    expect(await notes(plain)).toEqual([
      [true, expect.stringMatching(/^an acknowledged delivery is stored on 2 servers \([^;]*\)$/)],
      [null, expect.stringMatching(/^standbys: .*; grant it pg_monitor$/)],
    ])
    await plain.close()
  })

  it('warns of a slot that falls behind, and of one that is lost', async () => {
    await ask(primary, async (client) => {
      await client.query("alter system set max_slot_wal_keep_size = '1MB'")
      await client.query('select pg_reload_conf()')
      await client.query("select pg_create_physical_replication_slot('left', true)")
      await until('it is lost', async () => {
        await client.query('select pg_switch_wal()')
        await client.query('checkpoint')
        return (await client.query("select 1 from pg_replication_slots where wal_status = 'lost'")).rowCount === 1
      })
    })
    expect(await notes()).toContainEqual([
      false,
      expect.stringMatching(/^slot left \(not in use\) is lost: its standby can no longer catch up/),
    ])
    await ask(primary, (client) => client.query("select pg_drop_replication_slot('left')"))
    const slots = [{ name: 'db3', active: true, wal_status: 'extended', kept_bytes: 3 * 1024 ** 3 }]
    const [, behind] = replicationNotes({ servers: 1, synchronous_standby_names: '', standbys: [], slots })
    expect(behind).toMatchObject({ ok: false, text: expect.stringMatching(/^slot db3 \(in use\) falls behind and keeps 3\.0 GiB/) })
  })

  it('doctor and status show it, and doctor which of several servers is the primary', async () => {
    const hosts = `127.0.0.1:${standby.port},127.0.0.1:${primary.port}`
    const url = { reveal: () => `postgres://postgres:${primary.password}@${hosts}/postgres` }
    const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
    const env = { ...databaseEnv({ ...config, url, listenUrl: url }), ...accountEnv(sandbox) }
    const { items: findings } = json<{ items: { text: string; ok: boolean }[] }>(await runHere(['doctor', '--json'], env))
    expect(findings).toContainEqual(
      expect.objectContaining({ ok: true, text: `127.0.0.1:${standby.port} is standby, 127.0.0.1:${primary.port} is primary` }),
    )
    expect(findings).toContainEqual(
      expect.objectContaining({ ok: false, text: expect.stringMatching(/^an acknowledged delivery is stored on 1 server/) }),
    )
    const status = json<{ replication: unknown; warnings: string[] }>(await runHere(['status', '--json'], env))
    expect(status.replication).toMatchObject({ servers: 1, standbys: [{ name: 'db2', sync_state: 'async' }], slots: [] })
    expect(status.warnings).toContainEqual(expect.stringMatching(/follows, but commits do not wait for it/))
    const roles = await serverRoles({
      reveal: () => `postgres://postgres:${primary.password}@127.0.0.1:${primary.port},127.0.0.1:1/postgres`,
    })
    expect(roles).toMatchObject([
      { role: 'primary' },
      { role: 'unreachable', problem: expect.stringMatching(/^Postgres cannot be reached/) },
    ])
  })
})

it.each([
  ['', 0],
  ['*', 1],
  ['a, b', 1],
  ['2 (a, b, c)', 2],
  ['FIRST 1 (a)', 1],
  ['any 2 (a, "b c")', 2],
])('reads from %o for how many standbys a commit waits', (names, count) => {
  expect(awaitedStandbys(names)).toBe(count)
})
