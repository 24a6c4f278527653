import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { securityHeaders } from '../../../src/ops/http/api/security-headers.ts'
import { openRaw } from '../../receive/support.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { AdminRig, ALICE, BOB } from './rig.ts'

describe('who may use the admin routes', () => {
  let rig: AdminRig
  beforeEach(async () => {
    rig = await AdminRig.open(sqliteDatabase)
  })
  afterEach(() => rig.close())

  it('lets in whoever bears one of the tokens', async () => {
    for (const token of [ALICE, BOB]) expect((await rig.ask('GET', '/accounts', { token })).status).toBe(200)
    const answer = await rig.ask('GET', '/accounts')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    for (const [name, value] of Object.entries(securityHeaders)) expect([name, answer.headers.get(name)]).toEqual([name, value])
  })

  it('answers 401 without a token and with a wrong one, whatever is asked for', async () => {
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

  it('closes a connection whose headers do not come', async () => {
    const slow = await openRaw(Number(new URL(rig.origin).port))
    slow.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
    expect(await slow.closed()).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('looks at no body before it knows who sends it', async () => {
    const raw = { type: 'application/json', text: '{' }
    expect((await rig.ask('POST', '/submissions/track', { token: 'wrong', raw })).status).toBe(401)
    expect((await rig.ask('POST', '/submissions/track', { raw })).status).toBe(400)
  })

  it('answers 429 after twenty wrong tokens in a minute, and a good one all the same', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 22; n++) statuses.push((await rig.ask('GET', '/accounts', { token: 'wrong' })).status)
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 401), 429, 429])
    const limited = await rig.ask('GET', '/accounts', { token: 'wrong' })
    expect(limited.headers.get('retry-after')).toBe('60')
    // What is guessed fills no log.
    expect(rig.lines).toHaveLength(20)
    expect((await rig.ask('GET', '/accounts')).status).toBe(200)
  })

  it('answers 401 to every request without a token, which any page can make a browser send', async () => {
    const statuses = new Set<number>()
    for (let n = 0; n < 25; n++) statuses.add((await rig.ask('GET', '/session', { token: null })).status)
    expect(statuses).toEqual(new Set([401]))
    expect(rig.lines).toHaveLength(20)
    expect((await rig.ask('GET', '/accounts', { token: 'wrong' })).status).toBe(401)
  })

  it('is not there at all without a token in the settings', async () => {
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

  it('goes by the tokens of the settings as they are now', async () => {
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `carol:${'c'.repeat(20)}` })
    expect((await rig.ask('GET', '/accounts')).status).toBe(401)
    expect((await rig.ask('GET', '/accounts', { token: 'c'.repeat(20) })).status).toBe(200)
  })

  it('leaves the other routes of the port open', async () => {
    expect((await rig.ask('GET', '/api/../healthz', { token: null })).text).toBe('ok\n')
  })

  it('says in one line who did what, and nothing of who only looks', async () => {
    await rig.ask('GET', '/accounts')
    await rig.ask('POST', '/destinations/ams/pause', { token: BOB, body: { reason: 'the AMS moves' } })
    await rig.ask('POST', '/destinations/none/pause', { token: BOB })
    expect(rig.lines.map(({ who, route, params, status, msg }) => ({ who, route, params, status, msg }))).toEqual([
      {
        who: 'bob',
        route: 'POST /api/v1/destinations/:name/pause',
        params: { name: 'ams' },
        status: 200,
        msg: 'admin: bob did POST /api/v1/destinations/:name/pause',
      },
      {
        who: 'bob',
        route: 'POST /api/v1/destinations/:name/pause',
        params: { name: 'none' },
        status: 404,
        msg: 'admin: bob was refused POST /api/v1/destinations/:name/pause',
      },
    ])
  })
})

describe('what the admin routes refuse', () => {
  let rig: AdminRig
  beforeEach(async () => {
    rig = await AdminRig.open(sqliteDatabase)
  })
  afterEach(() => rig.close())

  it('answers 404 for a route that there is not, with a problem', async () => {
    for (const path of ['/nothing', '/api', '/api/v2/status', '/accounts/x/y']) {
      const answer = await rig.ask('GET', path)
      expect([path, answer.status, answer.json['detail']]).toEqual([path, 404, expect.stringContaining('openapi.json')])
    }
    expect((await rig.ask('DELETE', '/accounts')).status).toBe(404)
  })

  it('takes JSON and nothing else', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/csv', 'multipart/form-data; boundary=x']) {
      const answer = await rig.ask('POST', '/inbox/replay', { raw: { type, text: '{"state":"dead"}' } })
      expect([type, answer.status]).toEqual([type, 415])
      expect(answer.json['detail']).toBe('the content type is not read here; send application/json')
    }
    const broken = await rig.ask('POST', '/inbox/replay', { raw: { type: 'application/json', text: '{' } })
    expect(broken).toMatchObject({ status: 400, json: { detail: 'the body is not JSON' } })
    const poisoned = await rig.ask('POST', '/inbox/replay', { raw: { type: 'application/json', text: '{"__proto__":{"state":"dead"}}' } })
    expect(poisoned.status).toBe(400)
  })

  it('refuses a body over the limit', async () => {
    const body = { ids: Array.from({ length: 40_000 }, () => 'x'.repeat(36)) }
    expect(await rig.ask('POST', '/submissions/track', { body })).toMatchObject({
      status: 413,
      json: { detail: 'the body is too large; send it in parts' },
    })
  })

  it('lists everything that is wrong with a request', async () => {
    const query = await rig.ask('GET', '/inbox?limit=0&state=gone&since=yesterday&submission_id=x&colour=red')
    expect(query.status).toBe(400)
    expect(query.json['detail']).toBe('5 things are wrong; see problems')
    expect(query.json['problems']).toEqual([
      'query state: "gone" is none of ready, done, aside, dead',
      'query submission_id: "x" is no submission id (a uuid)',
      'query since: "yesterday" is no time; give a date, a date-time, or how long ago, like 2h or 7d',
      'query limit: "0" is no number from 1 to 200',
      'query: there is no "colour" here; there are state, account, submission_id, since, until, kind, text, limit, cursor',
    ])
    const body = await rig.ask('POST', '/submissions/track', { body: { ids: ['x'] } })
    expect(body).toMatchObject({ status: 400, json: { detail: 'body ids.0: "x" is no submission id (a uuid)' } })
    expect(body.json['problems']).toBeUndefined()
    expect((await rig.ask('POST', '/submissions/track')).status).toBe(400)
  })

  it('says what is wrong in the words of the commands', async () => {
    const refused = async (method: string, path: string, body?: unknown) => {
      const { status, json } = await rig.ask(method, path, { body })
      expect(status).toBe(400)
      return json['problems'] ?? json['detail']
    }
    const range = '"many" is no number from 1 to 200'
    expect(await refused('GET', '/outbox?limit=many')).toBe(`query limit: ${range}`)
    expect(await refused('GET', '/outbox?limit=1.5')).toBe('query limit: "1.5" is no number from 1 to 200')
    expect(await refused('GET', '/outbox?cursor=-1')).toBe('cursor: is not `next_cursor` of a page of this list')
    expect(await refused('GET', '/rejected/nope')).toBe('path id: "nope" is no number')
    expect(await refused('POST', '/submissions/track', { ids: [] })).toBe('body ids: must hold at least 1')
    expect(await refused('POST', '/submissions/track')).toBe('body: is missing')
    expect(await refused('POST', '/submissions/track', {})).toBe('body: give ids of submissions, or a file of them')
    expect(await refused('POST', '/submissions/track', { ids: 'x', colour: 'red', size: 1 })).toEqual([
      'body ids: "x" is no list',
      'body: there is no "colour" here; there are account, ids, file, again, bind_request_ids, policy_ids, insured_ids',
      'body: there is no "size" here; there are account, ids, file, again, bind_request_ids, policy_ids, insured_ids',
    ])
    expect(await refused('POST', '/outbox/retry', { destination: 'x'.repeat(201), ids: Array.from({ length: 501 }, () => '1') })).toEqual([
      'body ids: must not hold more than 500',
      `body destination: "${'x'.repeat(80)}" is longer than 200 characters`,
    ])
    expect(await refused('POST', '/outbox/retry', { ids: ['1', ''] })).toBe('body ids.1: "" is empty')
    expect(await refused('POST', '/reconcile-runs', { dry_run: 'yes', concurrency: 1000, since: 7, submissions: {} })).toEqual([
      'body submissions: is no list',
      'body since: 7 is no text',
      'body dry_run: "yes" is neither true nor false',
      'body concurrency: 1000 is no number from 1 to 256',
    ])
    expect(await refused('POST', '/reconcile-runs', [])).toBe('body: is no object')
  })

  it('refuses a path that nobody can read, and one that is too long, as a problem like any other', async () => {
    for (const [path, status, detail] of [
      ['/inbox/%E0', 400, 'the path is not well encoded: what follows a % must be UTF-8'],
      ['/%ED%A0%80', 400, 'the path is not well encoded: what follows a % must be UTF-8'],
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

  it('refuses a query that a route knows nothing of, whichever route it is', async () => {
    for (const path of ['/openapi.json', '/status', '/accounts', '/destinations', '/outbox/1'])
      expect([path, (await rig.ask('GET', `${path}?zz=1`)).json['detail']]).toEqual([path, 'query: there is no "zz" here; there is none'])
    expect((await rig.ask('GET', '/completeness?zz=1')).json['detail']).toBe('query: there is no "zz" here; there is account')
    expect((await rig.ask('POST', '/outbox/skip?destination=ams', { body: { state: 'ready' } })).status).toBe(400)
    expect(await rig.notes()).toEqual([])
    expect(await rig.ask('GET', '/completeness?account=nope')).toMatchObject({
      status: 404,
      json: { detail: 'there is no account "nope"; there is default' },
    })
    expect((await rig.ask('GET', '/completeness?account=default')).json).toEqual((await rig.ask('GET', '/completeness')).json)
  })

  it('says when the database cannot be used, and nothing of why', async () => {
    await rig.db.close()
    const answer = await rig.ask('POST', '/destinations/ams/pause')
    expect(answer).toMatchObject({
      status: 503,
      json: { title: 'Service Unavailable', detail: 'the database cannot be used now; try again' },
    })
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(answer.text).not.toMatch(/closed|\.ts|\.db/i)
  })
})
