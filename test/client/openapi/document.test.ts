import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { conditionOf } from '../../../src/client/openapi/conditions.ts'
import { openApiDocument } from '../../../src/client/openapi/document.ts'
import { conditionsOf } from '../../../src/client/openapi/operation.ts'
import { operations } from '../../../src/client/openapi/operations.ts'

/** Rows of the specification's endpoint tables with their scopes. */
const ROWS = [
  'GET /oauth/.well-known/oauth-authorization-server none',
  'GET /oauth/authorize none',
  'POST /oauth/token none',
  'POST /oauth/device_authorization none',
  'POST /oauth/register none',
  'GET /broker/me broker_mcp',
  'POST /broker/intake broker_submit',
  'POST /broker/submissions broker_submit',
  'POST /broker/submissions/{submission_id}/finalize broker_submit',
  'GET /broker/submissions/{submission_id}/requirements broker_mcp',
  'GET /broker/submissions/{submission_id}/outstanding-requirements broker_mcp',
  'POST /broker/submissions/{submission_id}/outstanding-requirements/answers broker_submit',
  'GET /broker/submissions/{submission_id}/events broker_mcp',
  'GET /broker/submissions/{submission_id}/thread broker_mcp',
  'POST /broker/submissions/{submission_id}/thread broker_submit',
  'POST /broker/submissions/{submission_id}/documents broker_submit',
  'GET /broker/finalized-documents/{document_id}/pdf broker_mcp',
  'POST /broker/submissions/{submission_id}/form-fill-session broker_submit',
  'GET /broker/forms broker_mcp',
  'GET /broker/submissions/{submission_id}/api-quotes/sessions broker_mcp',
  'GET /broker/submissions/{submission_id}/application-workspace broker_mcp',
  'POST /broker/submissions/{submission_id}/applications/{session_id}/checkpoint broker_submit',
  'PUT /broker/submissions/{submission_id}/application-workspace/quote-products broker_submit',
  'POST /broker/submissions/{submission_id}/bind-requests broker_submit',
  'GET /broker/submissions/{submission_id}/bind-requests/{bind_request_id} broker_mcp',
  'POST /broker/submissions/{submission_id}/bind-requests/{bind_request_id}/contingencies/{contingency_id}/document broker_submit',
  'GET /broker/appetite broker_mcp',
  'POST /broker/appetite/search broker_mcp',
  'PUT /broker/market-access/program-line broker_submit',
  'GET /broker/policies/{policy_id} broker_mcp',
  'GET /broker/insureds/{insured_id} broker_mcp',
]

interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly type?: string
}

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, unknown>> }>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

const document = openApiDocument()
const { paths, components } = document as unknown as Described

describe('the OpenAPI document of the service', () => {
  it('has exactly the rows of the endpoint tables', () => {
    expect(operations.map(({ method, path, scope }) => `${method} ${path} ${scope}`).sort()).toEqual([...ROWS].sort())
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(described.sort()).toEqual(ROWS.map((row) => row.slice(0, row.lastIndexOf(' '))).sort())
  })

  it('names each operation once', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(ROWS.length)
  })

  it('is the same each time', () => {
    expect(JSON.stringify(openApiDocument())).toBe(JSON.stringify(document))
  })

  it('marks gaps of the specification', () => {
    const statusOf = (path: string, method: string) => paths[path]?.[method]?.responses
    expect(statusOf('/broker/submissions/{submission_id}/events', 'get')?.['400']).toMatchObject({
      'x-not-shown': expect.arrayContaining(['The status of: Invalid cursor']),
    })
    expect(statusOf('/broker/submissions/{submission_id}/events', 'get')?.['404']).not.toHaveProperty('x-not-shown')
    expect(components.schemas['Policy']).toHaveProperty('x-not-shown')
    expect(document).toHaveProperty('x-not-shown', expect.arrayContaining(['Bind submission', 'Withdraw']))
  })

  it('lists known values without restricting them', () => {
    expect(components.schemas['MarketEvent']).toMatchObject({
      required: ['id', 'type'],
      properties: { type: { type: 'string', 'x-known-values': expect.arrayContaining(['market_attached', 'bound']) } },
    })
    expect(JSON.stringify(components.schemas['MarketEvent'])).not.toContain('"enum"')
  })

  it('gives each answer a single type for client generators', () => {
    const kindsOf = (schema: Schema): string[] => {
      if (schema.$ref) return kindsOf(components.schemas[schema.$ref.replace('#/components/schemas/', '')] as Schema)
      return schema.anyOf ? schema.anyOf.flatMap(kindsOf) : [schema.type ?? 'nothing']
    }
    for (const [path, methods] of Object.entries(paths)) {
      for (const { responses } of Object.values(methods)) {
        const { content = {} } = (responses['200'] ?? responses['2XX']) as { content?: Record<string, { schema: Schema }> }
        for (const { schema } of Object.values(content)) expect([path, new Set(kindsOf(schema)).size]).toEqual([path, 1])
      }
    }
    expect(components.schemas['AppetiteRanking']).toMatchObject({ type: 'object', properties: { results: { type: 'array' } } })
    expect(components.schemas['MarketAccess']).toMatchObject({ type: 'object', properties: { programs: { type: 'array' } } })
  })

  it('lists the errors of each operation, and allows others', () => {
    for (const operation of operations) {
      const { responses = {} } = paths[operation.path]?.[operation.method.toLowerCase()] ?? {}
      const listed = conditionsOf(operation).map((name) => String(conditionOf(name).status))
      expect(Object.keys(responses)).toEqual(expect.arrayContaining([...listed, '4XX']))
    }
  })

  it('has no dangling reference', () => {
    const names = new Set([...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/g)].map(([, to]) => to))
    expect(names.size).toBeGreaterThan(30)
    expect([...names].sort()).toEqual(Object.keys(components.schemas).sort())
  })

  it('passes the linter', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-service-'))
    try {
      writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
      const redocly = fileURLToPath(new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
      // Without update checks and telemetry.
      const env = { ...process.env, CI: 'true', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
      const options = ['lint', 'openapi.json', '--extends=recommended', '--format=json']
      const { stdout } = await promisify(execFile)(process.execPath, [redocly, ...options], { cwd: folder, env }).catch(
        (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
      )
      const { totals, problems } = JSON.parse(stdout) as { totals: object; problems: readonly { message: string; location: object }[] }
      expect(problems.map(({ message, location }) => [message, JSON.stringify(location).slice(0, 300)])).toEqual([])
      expect(totals).toMatchObject({ errors: 0, warnings: 0, ignored: 0 })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
