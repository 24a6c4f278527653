import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { onSqlite } from '../../tools/databases.ts'
import { adminRigForEach, type Page } from '../http/rig.ts'

describe.each(onSqlite)('completeness on $name', (database) => {
  const rig = adminRigForEach(database)

  it('shows how complete the mirror is, by account and by submission', async () => {
    const ids = [1, 2, 3].map((n) => `bbbbbbbb-0000-4000-8000-00000000000${n}`)
    await rig.ask('POST', '/submissions/track', { body: { ids } })
    const sums = await rig.ask<Page & { scope: string }>('GET', '/completeness')
    expect(sums.json).toMatchObject({ items: [{ account: 'default', submissions: 3, never_read: 3, reconciled: 0 }], next_cursor: null })
    expect(sums.json.scope).toMatch(/^The mirror has only submissions that were named by a delivery, by `track`, or by a discovery path/)
    const [row] = await rig.db.read.all(sql`select * from account_completeness`)
    expect(Object.keys(sums.json.items[0] ?? {}).sort()).toEqual(Object.keys(row as object).sort())
    const list = async (query = '') => (await rig.ask<Page>('GET', `/accounts/default/completeness${query}`)).json
    const all = await list()
    expect(all.items.map((item) => item['submission_id'])).toEqual(ids)
    expect(all.items[0]).toMatchObject({ tracked_via: 'command', event_count: 0, reconciled_at: null })
    const first = await list('?limit=2')
    expect((await list(`?limit=2&cursor=${first.next_cursor}`)).items.map((item) => item['submission_id'])).toEqual(ids.slice(2))
    expect((await list(`?submission_id=${ids[1]}`)).items).toHaveLength(1)
    expect((await rig.ask('GET', '/accounts/other/completeness')).status).toBe(404)
  })
})
