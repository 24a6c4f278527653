import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { onSqlite } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { programPath } from '../../tools/program.ts'
import { type AdminRig, ALICE } from '../http/rig.ts'
import { type Answered, BAKERY, call, filled, HOSTILE, HOSTILE_ID, OPERATOR, overHttp, SECRET_BODY, VIEWER } from './rig.ts'

const READING =
  'changes_since get_submission get_timeline list_deliveries list_open_items list_pushes list_quotes overview search_submissions'.split(' ')
const ACTING = ['sync', 'replay', 'reconcile', 'retry_push']

async function toolsOf(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name).sort()
}

async function refusal(client: Client, name: string, given: Record<string, unknown> = {}): Promise<string> {
  const answer = (await client.callTool({ name, arguments: given })) as CallToolResult
  expect(answer.isError).toBe(true)
  const [text] = answer.content
  return text?.type === 'text' ? text.text : ''
}

function itemsOf({ data }: Answered): Record<string, unknown>[] {
  return data as Record<string, unknown>[]
}

async function pages(client: Client, name: string, given: Record<string, unknown>): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const answered: Answered = await call(client, name, { ...given, ...(cursor !== undefined && { cursor }) })
    all.push(...itemsOf(answered))
    cursor = answered.next_cursor ?? null
  }
  return all
}

async function overStdio(rig: AdminRig): Promise<{ client: Client; said: () => string }> {
  const client = new Client({ name: 'test', version: '1' })
  const env = { PATH: process.env['PATH'] ?? '', ...rig.env }
  const transport = new StdioClientTransport({ command: process.execPath, args: [programPath('main'), 'mcp'], env, stderr: 'pipe' })
  let said = ''
  transport.stderr?.on('data', (piece: Buffer) => {
    said += piece.toString()
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, said: () => said }
}

describe.each(onSqlite)('the Model Context Protocol on $name', (database) => {
  let rig: AdminRig
  beforeAll(async () => {
    rig = await filled(database)
  })
  afterAll(() => rig.close())

  async function checkEveryTool(client: Client): Promise<void> {
    const { tools } = await client.listTools()
    expect(await toolsOf(client)).toEqual(READING)
    const { properties } = tools.find(({ name }) => name === 'get_submission')?.inputSchema ?? {}
    expect(properties?.['limit']).toMatchObject({ default: 50, description: expect.stringContaining('`cut`') as string })
    for (const { inputSchema, annotations, description } of tools) {
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect([annotations?.readOnlyHint, (description ?? '').length > 40]).toEqual([true, true])
    }
    expect((await call(client, 'overview')).data).toMatchObject({ verdict: expect.any(String), sentence: expect.any(String) })
    const found = itemsOf(await call(client, 'search_submissions', { query: 'harb' }))
    const of = { account: 'acme', submission_id: BAKERY }
    expect(found).toMatchObject([{ ...of, insured_name: 'Harbour Bakery LLC', best_quote: { total_cents: 118_000 } }])
    expect(itemsOf(await call(client, 'search_submissions', { query: BAKERY.slice(0, 8), limit: 200 })).length).toBeGreaterThan(0)
    const whole = await call(client, 'get_submission', { ...of, submission_id: BAKERY.toUpperCase(), limit: 1 })
    expect(whole.data).toMatchObject({
      summary: { submission_id: BAKERY },
      tables: { lanes: { length: 1 } },
      cut: expect.arrayContaining(['lanes']),
    })
    expect((await pages(client, 'get_timeline', { ...of, limit: 2 })).length).toBeGreaterThan(2)
    const open = await pages(client, 'list_open_items', { ...of, limit: 1 })
    expect(open).toEqual(itemsOf(await call(client, 'list_open_items', of)))
    expect(open).toContainEqual(expect.objectContaining({ source: 'outstanding', insured_name: 'Harbour Bakery LLC' }))
    const quotes = await pages(client, 'list_quotes', { limit: 1 })
    expect(quotes[0]).toMatchObject({ ...of, total_cents: 118_000, market_name: 'Alder Point', lines: expect.any(Array) })
    expect(quotes).toEqual(itemsOf(await call(client, 'list_quotes', { account: 'acme' })))
    const deliveries = await pages(client, 'list_deliveries', { account: 'default', limit: 1 })
    expect(deliveries.map((each) => each['delivery_id'])).toContain('msg_1')
    expect((await pages(client, 'list_pushes', { destination: 'ams', limit: 1 })).length).toBeGreaterThan(0)
    const log = await call(client, 'changes_since', { seq: 2, limit: 3 })
    expect(log).toMatchObject({ data: { first_seq: 1, items: [{ seq: 3 }, { seq: 4 }, { seq: 5 }] }, next_cursor: '5' })
  }

  it('lists and calls every tool over HTTP, for a viewer', async () => {
    await checkEveryTool(await overHttp(rig, VIEWER))
    expect(await rig.notes()).toEqual([])
  })

  it('lists and calls every tool over standard input and output, without other output', async () => {
    const { client, said } = await overStdio(rig)
    await checkEveryTool(client)
    expect(said()).toBe('')
    expect(await refusal(client, 'sync', { ids: [BAKERY] })).toMatch(/not found/)
  })

  it('masks personal values and bodies for every role, and returns hostile text as data', async () => {
    const client = await overHttp(rig, ALICE)
    const of = { account: 'default', submission_id: HOSTILE_ID }
    const repeated = { state: 'dead', status: 422, error: `it answered 422 (${SECRET_BODY})` } as const
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set(repeated).execute())
    onTestFinished(async () => {
      const before = { state: 'ready', status: null, error: null } as const
      await rig.db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set(before).execute())
    })
    const answers: string[] = []
    for (const [name, given] of [
      ['get_submission', of],
      ['get_timeline', of],
      ['get_submission', { account: 'acme', submission_id: BAKERY }],
      ['get_timeline', { account: 'acme', submission_id: BAKERY }],
      ['list_deliveries', {}],
      ['list_pushes', {}],
      ['changes_since', { limit: 200 }],
    ] as const) {
      const answer = (await client.callTool({ name, arguments: given })) as CallToolResult
      const [text] = answer.content
      answers.push(text?.type === 'text' ? text.text : '')
    }
    const all = answers.join('\n')
    expect(all).not.toContain('Jane Roe')
    expect(all).toContain('it answered 422 ••••')
    expect(all).not.toMatch(/"body_text":"[^•]/)
    // Allowed text is complete, but cannot hide or reorder the text around it.
    const [event] = (await call(client, 'get_timeline', { ...of, kinds: ['event'] })).data as Record<string, unknown>[]
    expect(event?.['summary']).toBe(HOSTILE)
    expect(all).toContain('\\u202eevil')
    expect(all).not.toContain('\u202e')
  })

  it('rejects invalid arguments, cursors and names with a reason', async () => {
    const client = await overHttp(rig, VIEWER)
    expect(await refusal(client, 'search_submissions', { query: 'a', limit: 201 })).toMatch(/limit/)
    expect(await refusal(client, 'search_submissions', { zz: 1 })).toMatch(/zz/)
    expect(await refusal(client, 'search_submissions', { query: 'a\u0000' })).toMatch(/^query: .*U\+0000/)
    expect(await refusal(client, 'get_submission', { account: 'acme', submission_id: 'x' })).toMatch(/not a submission id/)
    const unknown = { account: 'acme', submission_id: uuid(9, 99) }
    expect(await refusal(client, 'get_submission', unknown)).toMatch(/is not tracked in account acme/)
    expect(await refusal(client, 'list_pushes', { destination: 'nobody' })).toMatch(/unknown destination "nobody"/)
    expect(await refusal(client, 'changes_since', { seq: -1 })).toMatch(/seq/)
    expect(await refusal(client, 'changes_since', { epoch: 'another' })).toMatch(/^the log epoch is .*, not another/)
    const lists = ['search_submissions', 'list_open_items', 'list_quotes', 'list_deliveries', 'list_pushes']
    for (const name of lists) {
      for (const cursor of ['x', 'W10', Buffer.from('["a\\u0000",1,2]').toString('base64url')]) {
        expect([name, await refusal(client, name, { cursor })]).toEqual([name, 'cursor: must be the `next_cursor` of a page of this list'])
      }
    }
    expect(await refusal(client, 'nothing')).toMatch(/not found/)
  })

  it('offers actions only to operators, if the settings allow it, and records them', async () => {
    rig.config = loadConfig({ ...rig.env, OPS_MCP_ACTIONS: 'true' })
    onTestFinished(() => {
      rig.config = loadConfig(rig.env)
    })
    const viewer = await overHttp(rig, VIEWER)
    expect(await toolsOf(viewer)).toEqual(READING)
    for (const name of ACTING) expect(await refusal(viewer, name, { ids: ['msg_1'], submission_ids: [HOSTILE_ID] })).toMatch(/not found/)
    const client = await overHttp(rig, OPERATOR)
    expect(await toolsOf(client)).toEqual([...READING, ...ACTING].sort())
    expect((await call(client, 'sync', { account: 'default', ids: [HOSTILE_ID] })).data).toEqual({ account: 'default', submissions: 1 })
    expect((await call(client, 'replay', { ids: ['msg_1'] })).data).toEqual({ replayed: 1 })
    const [push] = itemsOf(await call(client, 'list_pushes', { destination: 'ams', limit: 1 }))
    await rig.db.write('test', (tx) =>
      tx.sql.updateTable('sync_outbox').set({ state: 'dead' }).where('outbox_id', '=', Number(push?.['outbox_id'])).execute(),
    )
    expect((await call(client, 'retry_push', { ids: [String(push?.['outbox_id'])] })).data).toEqual({ changed: 1, under_way: 0 })
    // Assistants get a dry run by default.
    expect((await call(client, 'reconcile', { account: 'default', submissions: [HOSTILE_ID] })).data).toMatchObject([
      { account: 'default', state: 'requested', options: { dry_run: true, submissions: [HOSTILE_ID] } },
    ])
    expect(await refusal(client, 'replay', { ids: ['nothing'] })).toBe('delivery nothing does not exist')
    expect((await rig.notes()).map(({ who, action, outcome }) => [who, action, outcome])).toEqual([
      ['o', 'submission.sync', 'done'],
      ['o', 'inbox.replay', 'done'],
      ['o', 'outbox.retry', 'done'],
      ['o', 'reconcile.request', 'done'],
    ])
  })

  it('accepts the tokens and hosts of the admin routes, and only POST', async () => {
    const ask = (init: RequestInit) => fetch(`${rig.origin}/mcp`, init)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const bearer = { authorization: `Bearer ${VIEWER}` }
    expect((await ask({ method: 'POST', headers, body })).status).toBe(401)
    expect((await ask({ method: 'POST', headers: { ...headers, authorization: 'Bearer wrong-0123456789-abc' }, body })).status).toBe(401)
    const good = await ask({ method: 'POST', headers: { ...headers, ...bearer }, body })
    const types = ['content-type', 'x-content-type-options'].map((name) => good.headers.get(name))
    expect([good.status, ...types]).toEqual([200, 'application/json', 'nosniff'])
    expect(good.headers.get('mcp-session-id')).toBeNull()
    // curl sends */*, and some clients send null arguments.
    const call = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'overview', arguments: null } })
    for (const accept of ['*/*', 'application/json, */*;q=0.1']) {
      const answer = await ask({ method: 'POST', headers: { ...headers, ...bearer, accept }, body: call })
      expect([answer.status, ((await answer.json()) as { result?: { isError?: boolean } }).result?.isError ?? false]).toEqual([200, false])
    }
    for (const method of ['GET', 'DELETE']) {
      const answer = await ask({ method, headers: bearer })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
    const large = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { x: 'x'.repeat(70_000) } })
    expect((await ask({ method: 'POST', headers: { ...headers, ...bearer }, body: large })).status).toBe(413)
    expect((await ask({ method: 'POST', headers: { ...headers, ...bearer }, body: '{' })).status).toBe(400)
    rig.config = { ...rig.config, ops: { ...rig.config.ops, tokens: [] } }
    onTestFinished(() => {
      rig.config = loadConfig(rig.env)
    })
    expect((await ask({ method: 'POST', headers: { ...headers, ...bearer }, body })).status).toBe(404)
  })
})
