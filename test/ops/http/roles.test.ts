import { beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { roles } from '../../../src/config/schema/roles.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { adminRigForAll } from './rig.ts'

const tokens = { viewer: 'viewer-0123456789-abc', operator: 'operator:0123456789-abc', admin: 'admin-0123456789-abcd' } as const

/** Exceptions: other GET routes require a viewer, other actions an operator. */
const MORE: Readonly<Record<string, string>> = {
  'GET /documents/{key}': 'operator',
  'GET /rows/{table}/{key}': 'operator',
  'GET /inbox/{id}': 'operator',
  'GET /outbox/{id}': 'operator',
  'GET /rejected/{id}': 'operator',
  'GET /outbox/{id}/exchange': 'operator',
  'GET /submissions/{account}/{submission_id}/texts': 'operator',
  'GET /destinations/{name}/mappings': 'operator',
  'GET /reconcile-runs/{id}/report.html': 'operator',
  'GET /submissions/{account}/{submission_id}/export': 'admin',
  'POST /session': 'viewer',
  'DELETE /session': 'viewer',
  'POST /backup': 'admin',
  'POST /doctor': 'admin',
  'POST /doctor/conformance': 'admin',
  'POST /reload': 'admin',
  'POST /retention/run': 'admin',
  'POST /submissions/purge': 'admin',
}

describe('roles', () => {
  const rig = adminRigForAll(sqliteDatabase)
  beforeAll(async () => {
    const list = `v:${tokens.viewer}:viewer o:${tokens.operator}:operator a:${tokens.admin}:admin`
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: list })
  })

  it('allow each route exactly to sufficient roles', async () => {
    const { paths } = (await rig.ask<{ paths: Record<string, object> }>('GET', '/openapi.json', { token: tokens.viewer })).json
    const routes = Object.entries(paths).flatMap(([path, of]) =>
      Object.keys(of).map((method) => ({ method: method.toUpperCase(), path: path.replace('/api/v1', '') })),
    )
    expect(routes.length).toBeGreaterThan(30)
    for (const { method, path } of routes) {
      const needed = MORE[`${method} ${path}`] ?? (method === 'GET' ? 'viewer' : 'operator')
      for (const role of roles) {
        // An unknown query parameter, so that an allowed request does nothing.
        const answer = await rig.ask(method, `${path.replace(/\{\w+\}/g, 'x')}?zz=1`, { token: tokens[role] })
        const isAllowed = roles.indexOf(role) >= roles.indexOf(needed as never)
        expect([method, path, role, answer.status === 403]).toEqual([method, path, role, !isAllowed])
        if (!isAllowed) expect(answer.json['detail']).toBe(`requires the ${needed} role; ${role[0]} has the ${role} role`)
      }
    }
    expect(await rig.notes()).toEqual([])
  })

  it('let a viewer read', async () => {
    expect((await rig.ask('GET', '/accounts', { token: tokens.viewer })).status).toBe(200)
    expect((await rig.ask('HEAD', '/inbox/x', { token: tokens.viewer })).status).toBe(403)
    expect((await rig.ask('GET', '/nothing', { token: tokens.viewer })).status).toBe(404)
  })
})
