import { beforeAll, describe, expect, it } from 'vitest'
import { operations } from '../../../../src/ops/operations/changes.ts'
import { type OperationContext, unattended } from '../../../../src/ops/operations/operation.ts'
import type { Tx } from '../../../../src/store/engine/db.ts'
import { ensureAccounts } from '../../../../src/store/reads/accounts.ts'
import { json, runHere } from '../../../app/run.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { readsInterrupted } from '../../../tools/meddled.ts'
import { fillScene } from '../../../tools/query-scene.ts'
import { adminRigForAll } from '../rig.ts'

interface Page {
  readonly items: readonly { readonly seq: number; readonly entity: string; readonly after: Record<string, unknown> | null }[]
  readonly next_cursor: string | null
  readonly log_epoch: string
  readonly first_seq: number
  readonly last_seq: number
}

const LOOKED_AT = 50_000

describe.each(testDatabases)('the change log, read by others, on $name', (database) => {
  const rig = adminRigForAll(database)
  beforeAll(async () => {
    await ensureAccounts(rig.db, ['acme'])
    await fillScene(rig.db)
  })

  const changes = async (query = '') => (await rig.ask<Page>('GET', `/changes?${query}`)).json
  const seqsOf = ({ items }: Page) => items.map(({ seq }) => seq)
  const setLog = (ends: { first_seq?: number; last_seq?: number }) =>
    rig.db.write('test', (tx) => tx.sql.updateTable('mirror_info').set(ends).execute())

  it('is in order without gaps for any page size, and continues after a number', async () => {
    const whole = await changes('limit=200')
    expect(whole).toMatchObject({ next_cursor: null, first_seq: 1, last_seq: whole.items.length })
    expect(seqsOf(whole)).toEqual(whole.items.map((_, n) => n + 1))
    const seen: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page = await changes(`limit=7${cursor && `&cursor=${cursor}`}`)
      expect(page.next_cursor === null || page.next_cursor === String(page.items.at(-1)?.seq)).toBe(true)
      seen.push(...seqsOf(page))
      cursor = page.next_cursor
    }
    expect(seen).toEqual(seqsOf(whole))
    expect(await changes(`after=3&limit=2&epoch=${whole.log_epoch}`)).toMatchObject({ items: [{ seq: 4 }, { seq: 5 }], next_cursor: '5' })
    expect((await changes(`after=${whole.last_seq}`)).items).toEqual([])
  })

  it('is filtered by table and account, and masked except at the terminal', async () => {
    const { items } = await changes('entity=thread_messages&account=acme')
    const messages = (from_address: string) => Array.from({ length: 2 }, () => ({ entity: 'thread_messages', after: { from_address } }))
    expect(items).toMatchObject(messages('••••'))
    expect((await changes('account=default')).items).toEqual([])
    expect((await rig.ask('GET', '/changes?account=nobody')).status).toBe(404)
    const listed = json<Page>(await runHere(['changes', 'list', '--entity', 'thread_messages', '--json'], rig.env))
    expect(listed.items).toMatchObject(messages('desk@service.example'))
  })

  it('rejects another epoch and removed changes, and shows where to continue', async () => {
    const { log_epoch } = await changes()
    const other = await rig.ask('GET', '/changes?epoch=another')
    expect(other).toMatchObject({ status: 409, json: { log_epoch, epoch: 'another', detail: expect.stringContaining(log_epoch) } })
    await setLog({ first_seq: 5 })
    for (const place of ['after=3', 'cursor=3']) {
      const gone = await rig.ask('GET', `/changes?${place}`)
      expect(gone).toMatchObject({ status: 410, json: { first_seq: 5, detail: expect.stringContaining('before 5') } })
    }
    expect((await runHere(['changes', 'list', '--after', '3'], rig.env)).code).toBe(2)
    expect([(await changes('after=4&limit=1')).items, (await changes('limit=1')).items]).toMatchObject([[{ seq: 5 }], [{ seq: 5 }]])
    await setLog({ first_seq: 1 })
    expect((await rig.ask('GET', '/changes?cursor=x')).status).toBe(400)
  })

  it('has short pages for a filter that matches few rows', async () => {
    const { last_seq } = await changes()
    await setLog({ last_seq: LOOKED_AT + 10 })
    expect(await changes('entity=policies')).toMatchObject({ items: [], next_cursor: String(LOOKED_AT) })
    expect(await changes(`entity=policies&cursor=${LOOKED_AT}`)).toMatchObject({ items: [], next_cursor: null })
    const listed = json(await runHere(['changes', 'list', '--entity', 'policies', '--json'], rig.env))
    expect(listed).toMatchObject({ items: [], next_cursor: null })
    await setLog({ last_seq })
  })

  it('reports 410 instead of a gap if retention removes changes during a read', async () => {
    const retain = async (tx: Tx) => {
      await tx.sql.deleteFrom('changes').where('seq', '<=', 4).execute()
      await tx.sql.updateTable('mirror_info').set({ first_seq: 5 }).execute()
    }
    const db = readsInterrupted(rig.db, async ({ sql }) => {
      if (sql.includes('from changes')) await rig.db.write('test', retain)
    })
    const [list] = operations
    const context = { ...unattended, db, config: rig.config, role: 'viewer' } as unknown as OperationContext
    const read = (after: number) => list?.run(context, { after, limit: 1, whole: false })
    await expect(read(2)).rejects.toMatchObject({ status: 410, facts: { first_seq: 5 } })
    expect(await read(4)).toMatchObject({ items: [{ seq: 5 }], first_seq: 5 })
  })
})
