import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { securityHeaders } from '../../../src/ops/http/api/security-headers.ts'
import { openRaw } from '../../receive/support.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { ALICE, adminRigForEach, BOB, refusal } from './rig.ts'

describe('who may use the admin routes', () => {
  const rig = adminRigForEach(sqliteDatabase)

  it('accepts each of the tokens', async () => {
    for (const token of [ALICE, BOB]) expect((await rig.ask('GET', '/accounts', { token })).status).toBe(200)
    const answer = await rig.ask('GET', '/accounts')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    for (const [name, value] of Object.entries(securityHeaders)) expect([name, answer.headers.get(name)]).toEqual([name, value])
  })

  it('answers 401 without a token or with a wrong one, on every path', async () => {
    const asked = [
      ['GET', '/accounts', null],
      ['GET', '/accounts', 'wrong'],
      ['GET', '/accounts', `${ALICE}x`],
      ['GET', '/accounts', 'alice'],
      ['GET', '/nothing', 'wrong'],
      ['GET', '/api', 'wrong'],
      ['GET', '/inbox/%E0', 'wrong'],
      ['POST', '/destinations/ams/pause', 'wrong'],
      ['OPTIONS', '/accounts', null],
    ] as const
    for (const [method, path, token] of asked) {
      const answer = await rig.ask(method, path, { token })
      expect([method, path, answer.status]).toEqual([method, path, 401])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="submission-mirror"')
      expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
      expect(answer.json).toMatchObject({ title: 'Unauthorized', status: 401, detail: expect.stringContaining('OPS_TOKENS') })
    }
    expect(await rig.notes()).toEqual([])
    expect(JSON.stringify(rig.lines)).not.toContain('wrong"')
  })

  it('closes a connection whose headers do not arrive', async () => {
    const slow = await openRaw(Number(new URL(rig.origin).port))
    slow.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
    expect(await slow.closed()).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('reads no body before it checks the token', async () => {
    const raw = { type: 'application/json', text: '{' }
    expect((await rig.ask('POST', '/submissions/track', { token: 'wrong', raw })).status).toBe(401)
    expect((await rig.ask('POST', '/submissions/track', { raw })).status).toBe(400)
  })

  it('answers 429 after twenty wrong tokens in a minute, but accepts a valid one', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 22; n++) statuses.push((await rig.ask('GET', '/accounts', { token: 'wrong' })).status)
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429])
    const limited = await rig.ask('GET', '/accounts', { token: 'wrong' })
    expect(limited.headers.get('retry-after')).toBe('60')
    expect(rig.lines).toHaveLength(20)
    expect((await rig.ask('GET', '/accounts')).status).toBe(200)
  })

  it('answers 401, never 429, to requests without a token, because any page can make a browser send them', async () => {
    const statuses = new Set<number>()
    for (let n = 0; n < 25; n++) statuses.add((await rig.ask('GET', '/session', { token: null })).status)
    expect(statuses).toEqual(new Set([401]))
    expect(rig.lines).toHaveLength(20)
    expect((await rig.ask('GET', '/accounts', { token: 'wrong' })).status).toBe(401)
  })

  it('answers 404 without a token in the settings', async () => {
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: '' })
    const nowhere = await rig.ask('GET', '/api/no', { token: null })
    for (const path of ['/accounts', '/api', '/api/', '/api/v1', '/api/v2/accounts', '/inbox/%E0']) {
      for (const token of [ALICE, null]) {
        const answer = await rig.ask('GET', path, { token })
        expect([path, answer.status, answer.text]).toEqual([path, 404, 'not found\n'])
      }
    }
    expect(nowhere.headers.get('content-type')).toMatch(/^text\/plain/)
    for (const method of ['POST', 'QUERY']) {
      for (const type of ['application/json', 'garbage', undefined]) {
        const raw = type === undefined ? undefined : { type, text: '{' }
        const answer = await rig.ask(method, '/accounts', { token: null, ...(raw && { raw }) })
        expect([method, type, answer.status, answer.text]).toEqual([method, type, 404, 'not found\n'])
      }
    }
  })

  it('uses the tokens of the current settings', async () => {
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `carol:${'c'.repeat(20)}` })
    expect((await rig.ask('GET', '/accounts')).status).toBe(401)
    expect((await rig.ask('GET', '/accounts', { token: 'c'.repeat(20) })).status).toBe(200)
  })

  it('leaves other routes of the port open', async () => {
    expect((await rig.ask('GET', '/api/../healthz', { token: null })).text).toBe('ok\n')
  })

  it('logs one line per action, but not reads', async () => {
    await rig.ask('GET', '/accounts')
    await rig.ask('POST', '/destinations/ams/pause', { token: BOB, body: { reason: 'the AMS moves' } })
    await rig.ask('POST', '/destinations/none/pause', { token: BOB })
    const route = 'POST /api/v1/destinations/:name/pause'
    expect(rig.lines.map(({ who, route, params, status, msg }) => ({ who, route, params, status, msg }))).toEqual([
      { who: 'bob', route, params: { name: 'ams' }, status: 200, msg: `admin: bob called ${route}, answered 200` },
      { who: 'bob', route, params: { name: 'none' }, status: 404, msg: `admin: bob called ${route}, answered 404` },
    ])
  })
})

describe('requests that the admin routes reject', () => {
  const rig = adminRigForEach(sqliteDatabase)

  it('answers 404 with a problem for an unknown route', async () => {
    for (const path of ['/nothing', '/api', '/api/v2/status', '/accounts/x/y']) {
      const answer = await rig.ask('GET', path)
      expect([path, answer.status, answer.json['detail']]).toEqual([path, 404, expect.stringContaining('openapi.json')])
    }
    expect((await rig.ask('DELETE', '/accounts')).status).toBe(404)
  })

  it('accepts only JSON', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/csv', 'multipart/form-data; boundary=x']) {
      const answer = await rig.ask('POST', '/inbox/replay', { raw: { type, text: '{"state":"dead"}' } })
      expect([type, answer.status]).toEqual([type, 415])
      expect(answer.json['detail']).toBe('unsupported content type. Send application/json')
    }
    const broken = await rig.ask('POST', '/inbox/replay', { raw: { type: 'application/json', text: '{' } })
    expect(broken).toMatchObject(refusal(400, 'the body is not JSON'))
    const poisoned = await rig.ask('POST', '/inbox/replay', { raw: { type: 'application/json', text: '{"__proto__":{"state":"dead"}}' } })
    expect(poisoned.status).toBe(400)
  })

  it('rejects a body over the limit', async () => {
    const body = { ids: Array.from({ length: 40_000 }, () => 'x'.repeat(36)) }
    expect(await rig.ask('POST', '/submissions/track', { body })).toMatchObject(refusal(413, 'the body is too large. Send it in parts'))
  })

  it('lists all problems of a request', async () => {
    const query = await rig.ask('GET', '/inbox?limit=0&state=gone&since=yesterday&submission_id=x&color=red')
    expect(query.status).toBe(400)
    expect(query.json['detail']).toBe('5 problems; see problems')
    expect(query.json['problems']).toEqual([
      'query state: "gone" is not one of ready, done, aside, dead',
      'query submission_id: "x" is not a submission id (a uuid)',
      'query since: "yesterday" is not a time; give a date, a date-time, or an age such as 2h or 7d',
      'query limit: "0" is not a number from 1 to 200',
      'query: unknown field "color"; known: state, account, submission_id, since, until, kind, text, limit, cursor',
    ])
    const body = await rig.ask('POST', '/submissions/track', { body: { ids: ['x'] } })
    expect(body).toMatchObject(refusal(400, 'body ids.0: "x" is not a submission id (a uuid)'))
    expect(body.json['problems']).toBeUndefined()
    expect((await rig.ask('POST', '/submissions/track')).status).toBe(400)
  })

  it('describes problems like the commands', async () => {
    const refused = async (method: string, path: string, body?: unknown) => {
      const { status, json } = await rig.ask(method, path, { body })
      expect(status).toBe(400)
      return json['problems'] ?? json['detail']
    }
    const range = '"many" is not a number from 1 to 200'
    expect(await refused('GET', '/outbox?limit=many')).toBe(`query limit: ${range}`)
    expect(await refused('GET', '/outbox?limit=1.5')).toBe('query limit: "1.5" is not a number from 1 to 200')
    expect(await refused('GET', '/outbox?cursor=-1')).toBe('cursor: must be the `next_cursor` of a page of this list')
    expect(await refused('GET', '/rejected/nope')).toBe('path id: "nope" is not a number')
    expect(await refused('POST', '/submissions/track', { ids: [] })).toBe('body ids: must have at least 1 entry')
    expect(await refused('POST', '/submissions/track')).toBe('body: is missing')
    expect(await refused('POST', '/submissions/track', {})).toBe('body: give submission ids, or a file that lists them')
    expect(await refused('POST', '/submissions/track', { ids: 'x', color: 'red', size: 1 })).toEqual([
      'body ids: "x" is not a list',
      'body: unknown field "color"; known: account, ids, file, again, bind_request_ids, policy_ids, insured_ids',
      'body: unknown field "size"; known: account, ids, file, again, bind_request_ids, policy_ids, insured_ids',
    ])
    expect(await refused('POST', '/outbox/retry', { destination: 'x'.repeat(201), ids: Array.from({ length: 501 }, () => '1') })).toEqual([
      'body ids: must have at most 500 entries',
      `body destination: "${'x'.repeat(80)}" is longer than 200 characters`,
    ])
    expect(await refused('POST', '/outbox/retry', { ids: ['1', ''] })).toBe('body ids.1: "" is empty')
    expect(await refused('POST', '/reconcile-runs', { dry_run: 'yes', concurrency: 1000, since: 7, submissions: {} })).toEqual([
      'body submissions: is not a list',
      'body since: 7 is not text',
      'body dry_run: "yes" is neither true nor false',
      'body concurrency: 1000 is not a number from 1 to 256',
    ])
    expect(await refused('POST', '/reconcile-runs', [])).toBe('body: is not an object')
  })

  it('rejects malformed and too long paths with a problem', async () => {
    for (const [path, status, detail] of [
      ['/inbox/%E0', 400, 'the path is malformed: percent-encoded bytes must be UTF-8'],
      ['/%ED%A0%80', 400, 'the path is malformed: percent-encoded bytes must be UTF-8'],
      [`/inbox/${'a'.repeat(513)}`, 414, 'a part of the path is longer than 512 characters'],
    ] as const) {
      const answer = await rig.ask('GET', path)
      expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.json).toEqual({ title: expect.any(String), status, detail })
      expect(answer.status).toBe(status)
    }
    const outside = await fetch(`${rig.origin}/%E0`)
    expect([outside.status, await outside.text()]).toEqual([404, 'not found\n'])
  })

  it('rejects unknown query parameters on every route', async () => {
    for (const path of ['/openapi.json', '/status', '/accounts', '/destinations', '/outbox/1'])
      expect([path, (await rig.ask('GET', `${path}?zz=1`)).json['detail']]).toEqual([path, 'query: unknown field "zz"; known: none'])
    expect((await rig.ask('GET', '/completeness?zz=1')).json['detail']).toBe('query: unknown field "zz"; known: account')
    expect((await rig.ask('POST', '/outbox/skip?destination=ams', { body: { state: 'ready' } })).status).toBe(400)
    expect(await rig.notes()).toEqual([])
    expect(await rig.ask('GET', '/completeness?account=nope')).toMatchObject(refusal(404, 'unknown account "nope"; known: default'))
    expect((await rig.ask('GET', '/completeness?account=default')).json).toEqual((await rig.ask('GET', '/completeness')).json)
  })

  it('answers 503 without details if the database is unavailable', async () => {
    await rig.db.close()
    const answer = await rig.ask('POST', '/destinations/ams/pause')
    expect(answer.json).toMatchObject({ title: 'Service Unavailable', status: 503, detail: 'the database is unavailable. Try again' })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(answer.text).not.toMatch(/closed|\.ts|\.db/i)
  })
})
