import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { onSqlite } from '../../tools/databases.ts'
import { AdminRig } from '../http/rig.ts'

interface Page {
  readonly items: readonly Record<string, unknown>[]
  readonly next_cursor: string | null
}

describe.each(onSqlite)('completeness on $name', (database) => {
  let rig: AdminRig
  beforeEach(async () => {
    rig = await AdminRig.open(database)
  })
  afterEach(() => rig.close())

  it('tells how complete the mirror is, by account and by submission, and what nobody can say', async () => {
    const ids = [1, 2, 3].map((n) => `bbbbbbbb-0000-4000-8000-00000000000${n}`)
    await rig.ask('POST', '/submissions/track', { body: { ids } })
    const sums = await rig.ask<Page & { scope: string }>('GET', '/completeness')
    expect(sums.json).toMatchObject({ items: [{ account: 'default', submissions: 3, never_read: 3, proven: 0 }], next_cursor: null })
    expect(sums.json.scope).toMatch(/^Complete means: for every submission that is known\./)
    const [row] = (await sql`select * from account_completeness`.execute(rig.db.read.sql)).rows
    expect(Object.keys(sums.json.items[0] ?? {}).sort()).toEqual(Object.keys(row as object).sort())
    const list = async (query = '') => (await rig.ask<Page>('GET', `/accounts/default/completeness${query}`)).json
    const all = await list()
    expect(all.items.map((item) => item['submission_id'])).toEqual(ids)
    expect(all.items[0]).toMatchObject({ tracked_via: 'command', event_count: 0, proved_at: null })
    const first = await list('?limit=2')
    expect((await list(`?limit=2&cursor=${first.next_cursor}`)).items.map((item) => item['submission_id'])).toEqual(ids.slice(2))
    expect((await list(`?submission_id=${ids[1]}`)).items).toHaveLength(1)
    expect((await rig.ask('GET', '/accounts/other/completeness')).status).toBe(404)
  })
})
