import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { createMigrated, giveBack } from './migrated.ts'
import { wash } from './washed.ts'

describe('washing', () => {
  const url = inject('postgresUrl')
  let config: Awaited<ReturnType<typeof createMigrated>>
  let used: pg.Client
  let server: pg.Client
  beforeEach(async () => {
    config = await createMigrated(url)
    server = new pg.Client({ connectionString: url })
    used = new pg.Client({ connectionString: config.url.reveal() })
    await Promise.all([server.connect(), used.connect()])
  })
  afterEach(async () => {
    await Promise.all([server.end(), used.end()])
    await giveBack(config, url)
  })

  const washed = () => wash(server, used, config.schema)
  const rejected = () =>
    used.query(
      `insert into ${config.schema}.sync_rejected (path, received_at, address, reason, headers, body) values ('', now(), '', '', '', '') returning rejected_id`,
    )

  it("leaves a new database's content, with numbers from the beginning", async () => {
    const before = await used.query(`select * from ${config.schema}.mirror_info`)
    const first = await rejected()
    await used.query(`update ${config.schema}.mirror_info set last_seq = 7`)
    expect(await washed()).toBe(true)
    expect((await used.query(`select * from ${config.schema}.mirror_info`)).rows).toEqual(before.rows)
    expect((await used.query(`select 1 from ${config.schema}.sync_rejected`)).rows).toEqual([])
    expect((await rejected()).rows).toEqual(first.rows)
  })

  it.each([
    'alter table $.sync_inbox add column own text',
    'drop view $.completeness',
    'create index own on $.changes (seq, operation)',
    'revoke select on $.changes from postgres',
    'create schema own',
    'analyze $.mirror_info',
    "do 'begin execute format(''alter database %I set work_mem = 65536'', current_database()); end'",
  ])('discards databases with other changes than rows: %s', async (text) => {
    await used.query(text.replace('$', config.schema))
    expect(await washed()).toBe(false)
  })
})
