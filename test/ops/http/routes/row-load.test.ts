import { beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { entities } from '../../../../src/model/entities.ts'
import { columnsWhere, isInChangeLog, type Row } from '../../../../src/model/entity.ts'
import { entityIdOf } from '../../../../src/model/row-key.ts'
import { ensureAccounts } from '../../../../src/store/reads/accounts.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { applyAll, rowsOf } from '../../../tools/mirror.ts'
import { byWebhook, observedMessage, uuid, wireMessage } from '../../../tools/observations.ts'
import { fillScene } from '../../../tools/query-scene.ts'
import { adminRigForAll, refusal } from '../rig.ts'

interface Loaded {
  readonly items: readonly { readonly account: string; readonly entity: string; readonly entity_id: string; readonly row: Row }[]
  readonly next_cursor: string | null
  readonly log_epoch: string
  readonly seq: number
}

interface Changes {
  readonly items: readonly { readonly after: Row | null }[]
  readonly log_epoch: string
  readonly last_seq: number
}

const VIEWER = 'viewer-0123456789-abc'

describe.each(testDatabases)('a first load, on $name', (database) => {
  const rig = adminRigForAll(database)
  beforeAll(async () => {
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `${rig.env['OPS_TOKENS']} v:${VIEWER}:viewer` })
    await ensureAccounts(rig.db, ['acme', 'other'])
    await fillScene(rig.db)
    await applyAll(rig.db, [observedMessage('other', uuid(9, 3), wireMessage(1), byWebhook)])
  })

  async function load(table: string, query: string): Promise<Loaded['items'][number][]> {
    const rows: Loaded['items'][number][] = []
    for (let after: string | null = ''; after !== null; ) {
      const { json }: { json: Loaded } = await rig.ask<Loaded>('GET', `/rows/${table}?${query}${after && `&after=${after}`}`)
      rows.push(...json.items)
      after = json.next_cursor
    }
    return rows
  }

  it('returns every row of every table once, with the columns and key of changes', async () => {
    for (const entity of entities) {
      const columns = columnsWhere(entity, isInChangeLog)
      const stored = (await rowsOf(rig.db, entity)).map((row) => ({
        entity: entity.table,
        entity_id: entityIdOf(entity, row),
        row: Object.fromEntries(columns.map((column) => [column, row[column]])),
      }))
      const loaded = await load(entity.table, 'limit=1&whole=true')
      expect(new Set(loaded.map(({ account, entity_id }) => `${account} ${entity_id}`)).size).toBe(loaded.length)
      expect(loaded).toHaveLength(stored.length)
      expect(loaded).toEqual(expect.arrayContaining(stored.map((each) => expect.objectContaining(each))))
      expect(await load(entity.table, 'limit=200&whole=true')).toEqual(loaded)
    }
  })

  it('shows up to which change it is complete, and rejects another epoch', async () => {
    const log = (await rig.ask<Changes>('GET', '/changes?limit=1')).json
    const page = (await rig.ask<Loaded>('GET', `/rows/submissions?epoch=${log.log_epoch}`)).json
    expect(page).toMatchObject({ seq: log.last_seq, log_epoch: log.log_epoch })
    const refused = await rig.ask('GET', '/rows/submissions?epoch=another')
    expect(refused).toMatchObject({ status: 409, json: { log_epoch: log.log_epoch, epoch: 'another' } })
  })

  it('is filtered by account', async () => {
    const accounts = async (query: string) => (await load('thread_messages', query)).map(({ account }) => account)
    expect(await accounts('limit=1&account=other')).toEqual(['other'])
    expect(new Set(await accounts('limit=1'))).toEqual(new Set(['acme', 'other']))
    expect((await rig.ask('GET', '/rows/thread_messages?account=nobody')).status).toBe(404)
  })

  it('lists the known tables, and rejects a cursor of another list', async () => {
    const missing = await rig.ask<{ detail: string }>('GET', '/rows/sync_inbox')
    expect(missing.status).toBe(404)
    for (const { table } of entities) expect(missing.json.detail).toContain(table)
    const { next_cursor } = (await rig.ask<Loaded>('GET', '/rows/thread_messages?limit=1')).json
    for (const query of ['after=x', `after=${next_cursor}&account=acme`]) {
      expect((await rig.ask('GET', `/rows/thread_messages?${query}`)).status).toBe(400)
    }
    expect((await rig.ask('GET', `/rows/submissions?after=${next_cursor}`)).status).toBe(400)
    const nul = Buffer.from(JSON.stringify([JSON.stringify(['a', 'b', 'c\0'])])).toString('base64url')
    expect((await rig.ask('GET', `/rows/thread_messages?after=${nul}`)).status).toBe(400)
  })

  it('masks personal values unless an operator requests them, and records it', async () => {
    const before = (await rig.notes()).length
    const [masked] = await load('thread_messages', 'account=other')
    expect(masked?.row).toMatchObject({ from_address: '••••', direction: 'outbound' })
    expect(await rig.notes()).toHaveLength(before)
    const [whole] = await load('thread_messages', 'account=other&whole=true')
    expect(whole?.row).toMatchObject({ from_address: 'desk@service.example' })
    const note = { who: 'alice', action: 'row.load', target: 'thread_messages', detail: { account: 'other', rows: 1 } }
    expect((await rig.notes()).at(-1)).toMatchObject(note)
    await load('thread_messages', 'account=other&whole=true')
    expect((await rig.notes()).slice(before)).toMatchObject([{ detail: { account: 'other', rows: 2 } }])
    const changes = await rig.ask<Changes>('GET', '/changes?account=other&entity=thread_messages&whole=true')
    expect(changes.json.items[0]?.after).toMatchObject({ from_address: 'desk@service.example' })
    expect((await rig.notes()).at(-1)).toMatchObject({ action: 'changes.list', target: 'thread_messages', detail: { account: 'other' } })
    for (const path of ['/rows/thread_messages', '/changes']) {
      const refused = await rig.ask('GET', `${path}?whole=true`, { token: VIEWER })
      expect(refused).toMatchObject(refusal(403, 'whole: requires the operator role; you have the viewer role'))
    }
  })
})
