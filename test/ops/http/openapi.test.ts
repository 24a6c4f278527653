import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { allOperations } from '../../../src/ops/operations/index.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { adminRigForAll } from './rig.ts'

interface Media {
  readonly schema: unknown
}
interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly description?: string
  readonly 'x-required-role'?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean; readonly schema: unknown }[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Readonly<Record<string, Media>> }>>
}
interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly security: readonly object[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>>; readonly securitySchemes: object }
}

/** Routes without an operation. */
const ROUTES = [
  'GET /api/v1/documents/{key}',
  'POST /api/v1/destinations/{name}/mappings.csv',
  'GET /api/v1/asyncapi.json',
  'GET /api/v1/openapi.json',
  'GET /api/v1/reconcile-runs/{id}/report.html',
  'GET /api/v1/submissions/{account}/{submission_id}/export',
  'DELETE /api/v1/session',
  'GET /api/v1/session',
  'GET /api/v1/session/methods',
  'POST /api/v1/session',
]

const made = await allOperations()
const described = (http: string) => http.replace(' ', ' /api/v1').replaceAll(/:(\w+)/g, '{$1}')

/** Lists that are also a CSV. */
const CSV = made.filter(({ hasCsv }) => hasCsv).map(({ http }) => `${http.replace(' ', ' /api/v1')}.csv`)

/** Content types of routes that answer with a file. */
const BYTES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(CSV.map((route) => [route.slice('GET '.length), 'text/csv'])),
  '/api/v1/documents/{key}': 'application/octet-stream',
  '/api/v1/submissions/{account}/{submission_id}/export': 'application/octet-stream',
  '/api/v1/reconcile-runs/{id}/report.html': 'text/html',
}

describe('the description of the admin routes', () => {
  const rig = adminRigForAll(sqliteDatabase)
  let document: Document
  beforeAll(async () => {
    document = (await rig.ask<Document>('GET', '/openapi.json')).json
  })

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, path, operation })),
    )

  it('is OpenAPI 3.1 of this program, with its token', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'submission-mirror', version: packageJson.version },
      security: [{ token: [] }, { session: [] }],
    })
    expect(document.components.securitySchemes).toMatchObject({ token: { type: 'http', scheme: 'bearer' }, session: { in: 'cookie' } })
  })

  it('lists every route', () => {
    const names = operations().map(({ name }) => name)
    expect(names.sort()).toEqual([...ROUTES, ...CSV, ...made.map(({ http }) => described(http))].sort())
  })

  it('describes purpose, parameters and answers of each route', () => {
    for (const { name, path, operation } of operations()) {
      expect([name, typeof operation.summary, operation.tags?.length]).toEqual([name, 'string', 1])
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      expect(inPath.map((parameter) => `{${parameter.name}}`)).toEqual(path.match(/\{\w+\}/g) ?? [])
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        expect([name, status, typeof description]).toEqual([name, status, 'string'])
        const types = Object.keys(content ?? {})
        const success = status === '204' ? [] : [BYTES[path] ?? 'application/json']
        const refusal = status === '421' ? 'text/plain' : 'application/problem+json'
        expect([name, status, types]).toEqual([name, status, Number(status) < 400 ? success : [refusal]])
      }
      expect(Object.keys(operation.responses)).toEqual(
        expect.arrayContaining([expect.stringMatching(/^20[04]$/), '400', '401', '403', '408', '421', '429', '431', '503']),
      )
    }
    const rows = document.paths['/api/v1/destinations/{name}/mappings']?.['post']?.requestBody?.content
    const csv = document.paths['/api/v1/destinations/{name}/mappings.csv']?.['post']?.requestBody?.content
    expect([Object.keys(rows ?? {}), Object.keys(csv ?? {})]).toEqual([['application/json'], ['text/csv']])
    const bodies = operations().filter(({ operation }) => operation.requestBody?.required === false)
    const ofDestination = ['pause', 'verify'].map((action) => `destinations/{name}/${action}`)
    const others = [
      'doctor',
      'doctor/conformance',
      'documents/check',
      'documents/retry',
      'reconcile-runs',
      'rejected/replay',
      'retention/run',
    ]
    const without = ['alarms/test', ...ofDestination, ...others]
    expect(bodies.map(({ name }) => name).sort()).toEqual(without.map((path) => `POST /api/v1/${path}`))
  })

  it('states the role that each operation requires', () => {
    const stated = Object.fromEntries(operations().map(({ name, operation }) => [name, operation['x-required-role']]))
    for (const { http, role } of made) expect(stated[described(http)], http).toBe(role)
    // Signing in requires none.
    expect(Object.keys(stated).filter((name) => stated[name] === undefined)).toEqual(
      expect.arrayContaining(['GET /api/v1/session/methods', 'POST /api/v1/session']),
    )
    expect(document.paths['/api/v1/inbox/{id}']?.['get']).toMatchObject({
      description: expect.stringMatching(/ Requires the operator role\.$/),
    })
  })

  it('gives each operation a unique id, and describes each tag', () => {
    const ids = operations().map(({ operation }) => operation.operationId ?? '')
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^(?:get|post|put|delete)[A-Z][A-Za-z]+$/)
    expect(ids).toEqual(expect.arrayContaining(['getInboxById', 'postInboxReplay', 'getReconcileRunsByIdReportHtml', 'deleteSession']))
    const used = new Set(operations().flatMap(({ operation }) => operation.tags ?? []))
    expect([...used].sort()).toEqual(document.tags.map(({ name }) => name).sort())
  })

  it('passes the OpenAPI linter', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-openapi-'))
    try {
      writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
      const redocly = fileURLToPath(new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
      // Without telemetry and update checks.
      const env = { ...process.env, CI: 'true', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
      const options = ['lint', 'openapi.json', '--extends=recommended', '--format=json']
      const { stdout } = await promisify(execFile)(process.execPath, [redocly, ...options], { cwd: folder, env })
      const { totals, problems } = JSON.parse(stdout) as { totals: object; problems: readonly object[] }
      expect(problems).toEqual([])
      expect(totals).toMatchObject({ errors: 0, warnings: 0, ignored: 0 })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('has no broken references', () => {
    const names = new Set([...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, to = '']) => to))
    expect(names.size).toBeGreaterThan(10)
    for (const to of names) expect(Object.keys(document.components.schemas)).toContain(to.replace('#/components/schemas/', ''))
  })

  it('has a schema for every parameter, body and answer', () => {
    const empty: string[] = []
    for (const { name, operation } of operations()) {
      const given = [
        ...(operation.parameters ?? []).map(({ name: of, schema }) => [of, schema] as const),
        ...Object.entries(operation.requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema] as const),
        ...Object.entries(operation.responses).flatMap(([status, { content }]) =>
          Object.values(content ?? {}).map(({ schema }) => [status, schema] as const),
        ),
      ]
      for (const [of, schema] of given) if (Object.keys(schema ?? {}).length === 0) empty.push(`${name} ${of}`)
    }
    expect(empty).toEqual([])
    expect(JSON.stringify(document.paths['/api/v1/inbox']?.['get']?.parameters)).toContain('"default":50')
  })
})
