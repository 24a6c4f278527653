import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ConformanceFinding } from '../../../../src/ops/doctor/conformance/conformance.ts'
import { startSandbox } from '../../../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../../../src/sandbox/service/sandbox.ts'
import { json, runHere } from '../../../app/run.ts'
import { rows } from '../../../conformance/rows.ts'
import { accountEnv, databaseEnv, type Environment } from '../../../e2e/serve.ts'
import { altered, alterJson, type PassingAnswer } from '../../../tools/altered.ts'
import { onSqlite } from '../../../tools/databases.ts'

let sandbox: Sandbox

async function played(options: SandboxOptions = {}): Promise<Sandbox> {
  const started = await startSandbox({ submissions: 6, seed: 'conformance', autoStart: false, ...options })
  while (started.step()) {}
  return started
}

beforeAll(async () => {
  sandbox = await played()
})
afterAll(() => sandbox.close())

/** A service that answers as the sandbox does, but for what is changed, and what was sent to it. */
async function service(alter: (answer: PassingAnswer) => void = () => {}): Promise<{ baseUrl: string; sent: string[] }> {
  const sent: string[] = []
  const front = await altered(sandbox.origin, (answer) => {
    sent.push(`${answer.method} ${answer.path}`)
    alter(answer)
  })
  onTestFinished(() => front.close())
  return { baseUrl: sandbox.baseUrl.replace(sandbox.origin, front.origin), sent }
}

async function compared(env: Environment, ...args: string[]) {
  const ended = await runHere(['doctor', '--conformance', '--json', ...args], env)
  expect(ended.err).toBe('')
  const { items: found } = json<{ items: ConformanceFinding[] }>(ended)
  const of = (result: string) => found.filter((each) => each.result === result)
  return { code: ended.code, found, of, row: (id: string) => found.find(({ row }) => row === id) }
}

/** No mirror, and no rate that holds a test up. */
const nowhere = { DATABASE_URL: 'sqlite:/tmp/there-is-no-mirror-here.db', UPSTREAM_RPS: '5000' }

/** What is found when one submission is looked at in a service that differs. */
async function differing(alter: (answer: PassingAnswer) => void) {
  const { baseUrl } = await service(alter)
  const [id = ''] = sandbox.submissionIds('default')
  return compared({ ...accountEnv(sandbox), ...nowhere, BROKER_API_BASE_URL: baseUrl }, '--submission', id)
}

describe.each(onSqlite)('the sandbox beside the specification, with the ids of a mirror on $name', (database) => {
  it('trap 55: differs in nothing, only reads are sent, and none that is metered', async () => {
    const opened = await database.open()
    onTestFinished(() => opened.close())
    const { baseUrl, sent } = await service()
    const env = { ...accountEnv(sandbox), ...databaseEnv(opened.config), BROKER_API_BASE_URL: baseUrl, UPSTREAM_RPS: '5000' }
    await runHere(['track', ...sandbox.submissionIds('default')], env)
    await runHere(['sync', '--all'], env)
    const writes = sandbox.writesSeen.length
    sent.splice(0)
    const { code, found, of, row } = await compared(env)
    expect(of('differs')).toEqual([])
    expect(code).toBe(0)
    expect(found.map((each) => each.row)).toEqual(rows.map(({ id }) => id))
    const told = [
      'getMetadata',
      'exchangeToken',
      'getIdentity',
      'getRequirements',
      'getOutstanding',
      'getEvents',
      'getThread',
      'getPdf',
      'getQuoteSessions',
      'getWorkspace',
      'getBindRequest',
      'getPolicy',
      'getInsured',
      'searchForms',
    ].map((name) => `endpoint.${name}`)
    const more = ['error.validation', 'error.not_found', 'error.cursor', 'limit.token', 'limit.events', 'limit.thread', 'state.bound']
    const access = ['bearer', 'lifetime', 'read_scope', 'machine'].map((name) => `authentication.${name}`)
    expect(of('agrees').map((each) => each.row)).toEqual(expect.arrayContaining([...told, ...more, ...access]))
    for (const each of of('untold')) expect(each.text).not.toBe('')
    expect(row('error.state')).toMatchObject({ ok: null, fails: false, result: 'untold', text: 'it needs a write' })
    // The proof that it may be pointed at any service.
    expect(sandbox.writesSeen).toHaveLength(writes)
    expect(sent.length).toBeGreaterThan(20)
    expect(sent.filter((line) => !line.startsWith('GET ') && line !== 'POST /api/v1/oauth/token')).toEqual([])
    expect(sent.filter((line) => line.includes('appetite'))).toEqual([])
  })
})

describe('a service that differs is told by the row', () => {
  const at = (part: string, change: (answer: PassingAnswer) => void) => (answer: PassingAnswer) => {
    if (answer.path.includes(part)) change(answer)
  }
  const refuse = (status: number) => (answer: PassingAnswer) => {
    answer.status = status
    answer.body = Buffer.from('{"detail":"no"}')
  }

  it.each<[row: string, says: RegExp, alter: (answer: PassingAnswer) => void]>([
    [
      'endpoint.getMetadata',
      /device_authorization_endpoint is missing/,
      at('/.well-known/', (a) => alterJson(a, (b) => delete b.device_authorization_endpoint)),
    ],
    [
      'endpoint.getIdentity',
      /no kind or no brokerage/,
      at('/broker/me', (a) => a.status === 200 && alterJson(a, (b) => delete b.brokerage)),
    ],
    [
      'endpoint.getRequirements',
      /rail\.generated_at is integer/,
      at('/requirements', (a) => a.status === 200 && alterJson(a, (b) => Object.assign(b.rail, { generated_at: 7 }))),
    ],
    ['endpoint.getWorkspace', /answered 403/, at('/application-workspace', refuse(403))],
    ['endpoint.getQuoteSessions', /answered 200 without JSON/, at('/sessions', (a) => Object.assign(a, { body: Buffer.from('<html>') }))],
    ['endpoint.getEvents', /next_cursor/, at('/events?limit=10', (a) => alterJson(a, (b) => delete b.next_cursor))],
    ['endpoint.getThread', /came twice/, at('/thread?limit=10', (a) => alterJson(a, (b) => b.messages.push(b.messages[0])))],
    [
      'endpoint.getPdf',
      /its type is not application\/pdf/,
      at('/finalized-documents/', (a) => Object.assign(a.headers, { 'content-type': 'text/html' })),
    ],
    ['endpoint.getPdf', /it is no PDF/, at('/finalized-documents/', (a) => Object.assign(a, { body: Buffer.from('<html>') }))],
    ['error.validation', /answered 400, not 422/, (a) => a.method === 'POST' && a.status === 422 && refuse(400)(a)],
    ['error.not_found', /answered 403, not 404/, (a) => a.status === 404 && refuse(403)(a)],
    ['error.cursor', /not refused/, at('since=no-cursor', (a) => Object.assign(a, { status: 200 }))],
    ['limit.events', /limit=1000 was answered 422, not clamped/, at('/events?limit=1000', refuse(422))],
    [
      'limit.thread',
      /limit=1 gave 3 items/,
      at('/thread?limit=1', (a) => a.path.endsWith('limit=1') && alterJson(a, (b) => (b.messages = Array(3).fill(b.messages[0])))),
    ],
    [
      'authentication.lifetime',
      /was given a refresh token/,
      at('/oauth/token', (a) => alterJson(a, (b) => Object.assign(b, { refresh_token: 'r' }))),
    ],
    ['authentication.bearer', /answered 200, not refused/, at('/broker/me', (a) => a.status === 401 && Object.assign(a, { status: 200 }))],
    [
      'authentication.machine',
      /names another client_id/,
      at('/broker/me', (a) => a.status === 200 && alterJson(a, (b) => Object.assign(b, { client_id: 'bac_2' }))),
    ],
    [
      'state.readiness',
      /does not follow/,
      at('/application-workspace', (a) =>
        alterJson(a, (b) => b.applications.map((one: object) => Object.assign(one, { missing: ['q'], readiness: 'ready_for_quote' }))),
      ),
    ],
  ])('%s: %s', async (row, says, alter) => {
    const found = await differing(alter)
    expect(found.row(row)).toMatchObject({ ok: false, result: 'differs', text: expect.stringMatching(says) })
    expect(found.code).toBe(1)
  })

  it('what it adds is more, and differs from nothing; trouble of the moment could not be told', async () => {
    const found = await differing((answer) => {
      if (answer.path.endsWith('/requirements') && answer.status === 200)
        alterJson(answer, (view) => Object.assign(view, { renewal: 1, marketing_status: 'paused' }))
      if (answer.path.endsWith('/outstanding-requirements')) refuse(503)(answer)
    })
    expect(found.row('endpoint.getRequirements')).toMatchObject({ result: 'agrees', more: ['marketing_status (value)', 'renewal'] })
    expect(found.row('endpoint.getOutstanding')).toMatchObject({
      result: 'untold',
      text: expect.stringMatching(/was answered 503; try again later$/),
    })
  })

  it('a choice that the specification leaves open differs from nothing, and is told', async () => {
    const other = await played({ unshown: { missing_token: 403, invalid_cursor: 422, me_scope: 'list' } })
    onTestFinished(() => other.close())
    const [id = ''] = other.submissionIds('default')
    const found = await compared({ ...accountEnv(other), ...nowhere }, '--submission', id)
    expect(found.of('differs')).toEqual([])
    expect(found.row('authentication.bearer')?.text).toContain('answered 403; the specification gives no number')
    expect(found.row('error.cursor')?.text).toContain('answered 422')
  })
})

describe('what is printed', () => {
  it('is a line for each row and a sum, and the reason when the mirror knows no submission', async () => {
    const ended = await runHere(['doctor', '--conformance', '--account', 'default'], { ...accountEnv(sandbox), ...nowhere })
    expect(ended.out).toMatch(/^Conformance of account default, by reading http/)
    expect(ended.out).toMatch(/^– error\.state \(.*\): could not be told: it needs a write$/m)
    expect(ended.out).toMatch(
      /^– endpoint\.getEvents .* no submission is known here; name one with --submission \(there is no database at /m,
    )
    expect(ended.out).toMatch(new RegExp(`\\n${rows.length} rows: \\d+ agree, \\d+ differ, \\d+ could not be told\\n$`))
  })

  it('is one sentence when the service cannot be reached, or takes no credentials', async () => {
    const away = await compared({ ...accountEnv(sandbox), ...nowhere, BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1' })
    const says = (text: RegExp) => [{ ok: false, row: null, result: 'failed', text: expect.stringMatching(text) }]
    expect([away.code, away.found]).toMatchObject([
      1,
      says(/^the service does not answer at http:\/\/127\.0\.0\.1:9\/api\/v1 \(.*\); check that this is its address/),
    ])
    const wrong = await compared({ ...accountEnv(sandbox), ...nowhere, BROKER_API_CLIENT_SECRET: 'bas_wrong' })
    expect([wrong.code, wrong.found]).toMatchObject([
      1,
      says(/^the service gives no token for the credentials of account default: it answers 40\d.*; compare id, secret/),
    ])
    expect(JSON.stringify(wrong.found)).not.toContain('bas_wrong')
  })

  it('is about the command line when that is wrong', async () => {
    const env = { ...accountEnv(sandbox), ...nowhere }
    for (const [args, says] of [
      [['--account', 'default'], /--account does not go with `doctor`/],
      [['--conformance', '--account', 'nobody'], /nobody/],
      [['--conformance', '--submission', 'seven'], /--submission/],
      [['--conformance', '--destination', 'ams'], /--destination/],
    ] as const) {
      const ended = await runHere(['doctor', ...args], env)
      expect([ended.code, ended.err]).toEqual([2, expect.stringMatching(says)])
    }
  })
})
