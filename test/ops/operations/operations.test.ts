import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { roles } from '../../../src/config/schema/roles.ts'
import { optionOf } from '../../../src/ops/operations/calling.ts'
import { isOptional, kindOf } from '../../../src/ops/operations/from-text.ts'
import { masked } from '../../../src/ops/operations/hidden.ts'
import { allOperations } from '../../../src/ops/operations/index.ts'
import { type AnyOperation, commandOf } from '../../../src/ops/operations/operation.ts'
import { json, runHere } from '../../app/run.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { tryFirst } from '../cli/push-rig.ts'
import type { AdminRig } from '../http/rig.ts'
import { call, filled, HOSTILE_ID, OPERATOR, overHttp, VIEWER } from '../mcp/rig.ts'

interface Described {
  readonly summary: string
}

async function findSomething(rig: AdminRig): Promise<void> {
  const [run] = (await rig.ask<{ items: { run_id: string }[] }>('POST', '/reconcile-runs', { body: { no_state: true } })).json.items
  const fields = JSON.stringify([{ field: 'body_text', mirror: 'Jane Roe called', service: 'Jane Roe wrote' }])
  await rig.db.write('test', ({ sql: tx }) =>
    tx
      .insertInto('reconcile_findings')
      .values({
        run_id: run?.run_id ?? '',
        finding_no: 1,
        account: 'default',
        submission_id: HOSTILE_ID,
        kind: 'different' as const,
        entity: 'thread_messages',
        entity_id: '[]',
        fields: fields as never,
        read: 'thread' as const,
        destination: null,
        seq: null,
        known: false,
        repaired_at: null,
        detail: 'it differs',
        found_at: '2026-01-05T12:00:00.000000Z',
      })
      .execute(),
  )
}

const operations = await allOperations()
const reading = operations.filter(({ http, withoutCommand }) => http.startsWith('GET ') && withoutCommand === undefined)

function ageless(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (name, value: unknown) => {
    if (/_seconds$|_ms$/.test(name)) return 'an age'
    return typeof value === 'string' ? value.replaceAll(/\b\d+ (?:s|min|h)\b/g, 'some time') : value
  })
}

describe('every operation', () => {
  let rig: AdminRig
  let paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  beforeAll(async () => {
    rig = await filled(sqliteDatabase)
    await tryFirst(rig.db, 'ams', { state: 'dead', error: 'answered 422: Jane Roe of jane@acme.test is not known', remoteId: 'r-1' })
    await findSomething(rig)
    paths = (await rig.ask<{ paths: typeof paths }>('GET', '/openapi.json')).json.paths
  })
  afterAll(() => rig.close())

  /** Required inputs: the examples of the schema, or else values of the first item in the list of the same subject. */
  async function placeOf(op: AnyOperation): Promise<Readonly<Record<string, string>>> {
    const inPath = [...op.http.matchAll(/:(\w+)/g)].map(([, field = '']) => field)
    const shape: Readonly<Record<string, z.ZodType>> = op.input.shape
    const fields = Object.keys(shape).filter((field) => inPath.includes(field) || !isOptional(shape[field] as z.ZodType))
    const list = operations.find(({ name }) => name === `${op.name.split('.')[0]}.list`)
    const [first = {}] = list ? (await rig.ask<{ items: Record<string, unknown>[] }>('GET', list.http.slice(4))).json.items : []
    const exampleOf = (field: string) => (shape[field]?.meta()?.['examples'] as unknown[] | undefined)?.[0]
    const known = (field: string) => exampleOf(field) ?? first[field] ?? Object.values(first)[0]
    return Object.fromEntries(fields.map((field) => [field, String(known(field))]))
  }

  function argumentsOf(op: AnyOperation, place: Readonly<Record<string, string>>): string[] {
    return Object.entries(place).flatMap(([field, value]) =>
      field === op.argument ? [value] : [optionOf(field, op.input.shape[field]), value],
    )
  }

  it.each(operations)('$name has the same summary in help, OpenAPI and tools', async (op) => {
    const [method = '', path = ''] = op.http.split(' ')
    expect(op.summary).toMatch(/^[a-z].*[^.]$/)
    expect(paths[`/api/v1${path.replace(/:(\w+)/g, '{$1}')}`]?.[method.toLowerCase()]?.summary).toBe(op.summary)
    if (op.withoutCommand !== undefined) return
    const help = await runHere([...commandOf(op).split(' '), '--help'], {})
    expect(help).toMatchObject({ code: 0, err: '' })
    const text = help.out.replace(/\s+/g, ' ')
    expect(text).toContain(op.summary)
    const fields: [string, z.ZodType][] = Object.entries(op.input.shape)
    for (const [field, schema] of fields.filter(([name, one]) => name !== 'cursor' && kindOf(one) !== 'objects'))
      expect([field, text]).toEqual([field, expect.stringContaining(schema.meta()?.description ?? '')])
    if (op.tool === undefined) return
    const isReading = method === 'GET'
    const { tools } = await (await overHttp(rig, OPERATOR)).listTools()
    if (isReading) expect(tools).toContainEqual(expect.objectContaining({ name: op.tool, title: op.summary }))
  })

  it.each(operations)('$name requires its role', async (op) => {
    const [method = '', path = ''] = op.http.split(' ')
    const tokens = { viewer: VIEWER, operator: OPERATOR } as const
    for (const [role, token] of Object.entries(tokens)) {
      const { status } = await rig.ask(method, `${path.replace(/:\w+/g, 'x')}?zz=1`, { token })
      expect([role, status === 403]).toEqual([role, roles.indexOf(role as never) < roles.indexOf(op.role)])
    }
  })

  it.each(reading)('$name gives the same answer at the terminal, over HTTP and to assistants', async (op) => {
    const place = await placeOf(op)
    const inPath = op.http.slice(4).replace(/:(\w+)/g, (_, field: string) => encodeURIComponent(place[field] ?? ''))
    const inQuery = Object.entries(place).filter(([field]) => !op.http.includes(`:${field}`))
    const path = inQuery.length === 0 ? inPath : `${inPath}?${new URLSearchParams(inQuery)}`
    const command = [...commandOf(op).split(' '), ...argumentsOf(op, place)]
    const { status, json: answer } = await rig.ask('GET', path)
    expect(status).toBe(200)
    const terminal = json<unknown>(await runHere([...command, '--json'], rig.env))
    expect((await runHere(command, rig.env)).code).toBe(0)
    // The terminal shows unmasked values, as does HTTP when it records the viewing.
    const isMasked = (op.shows?.(terminal as never, place) ?? null) === null
    expect(ageless(answer)).toEqual(ageless(isMasked ? masked(op.output, terminal) : terminal))
    if (op.tool === undefined) return
    const { data, next_cursor } = await call(await overHttp(rig, VIEWER), op.tool, place)
    const found = Array.isArray(data) ? { items: data } : (data as object)
    expect(ageless(next_cursor === undefined ? data : { ...found, next_cursor })).toEqual(ageless(masked(op.output, terminal)))
  })

  it('masks personal values in a finding', async () => {
    const [run] = (await rig.ask<{ items: { run_id: string }[] }>('GET', '/reconcile-runs')).json.items
    const [found] = (await rig.ask<{ items: object[] }>('GET', `/reconcile-runs/${run?.run_id}/findings`)).json.items
    expect(found).toMatchObject({ fields: [{ field: 'body_text', mirror: '••••', service: '••••' }] })
  })

  it('masks answers of a destination in lists', async () => {
    const [dead] = (await rig.ask<{ items: Record<string, unknown>[] }>('GET', '/outbox?state=dead')).json.items
    expect(dead).toMatchObject({ error: 'answered 422 ••••', remote_id: '••••' })
  })
})
