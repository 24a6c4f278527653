import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { eventsPageSchema } from '../../../src/client/schemas/events.ts'
import { type ConformanceFinding, compare } from '../../../src/ops/doctor/conformance.ts'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { json, runHere } from '../../app/run.ts'
import { accountEnv, databaseEnv, type Environment } from '../../e2e/serve.ts'
import { altered, alterJson, type PassingAnswer } from '../../tools/altered.ts'
import { onSqlite } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

let sandbox: Sandbox

async function played(options: SandboxOptions = {}): Promise<Sandbox> {
  const started = await startSandbox({ submissions: 6, seed: 'conformance', autoStart: false, ...options })
  while (started.story.step()) {}
  return started
}

beforeAll(async () => {
  sandbox = await played()
})
afterAll(() => sandbox.close())

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

const views = ['me', 'requirements', 'outstanding', 'events', 'thread', 'workspace', 'sessions', 'bind_request', 'policy', 'insured']

const nowhere = { DATABASE_URL: 'sqlite:/tmp/there-is-no-mirror-here.db', UPSTREAM_RPS: '5000' }

async function differing(alter: (answer: PassingAnswer) => void) {
  const { baseUrl } = await service(alter)
  const [id = ''] = sandbox.submissionIds('default')
  return compared({ ...accountEnv(sandbox), ...nowhere, BROKER_API_BASE_URL: baseUrl }, '--submission', id)
}

describe.each(onSqlite)('the sandbox and the specification, with the ids of a mirror on $name', (database) => {
  it('trap 55: agree, and only reads are sent, none of them metered', async () => {
    const opened = await closedAtEnd(database.open())
    const { baseUrl, sent } = await service()
    const env = { ...accountEnv(sandbox), ...databaseEnv(opened.config), BROKER_API_BASE_URL: baseUrl, UPSTREAM_RPS: '5000' }
    await runHere(['track', ...sandbox.submissionIds('default')], env)
    await runHere(['sync', '--all'], env)
    const writes = sandbox.activity.writes.length
    sent.splice(0)
    const { code, found, of } = await compared(env)
    expect([code, found.map(({ row }) => row), of('agrees').map(({ row }) => row)]).toEqual([0, views, views])
    expect(sandbox.activity.writes).toHaveLength(writes)
    expect(sent.length).toBeGreaterThanOrEqual(views.length)
    expect(sent.filter((line) => !line.startsWith('GET ') && line !== 'POST /api/v1/oauth/token')).toEqual([])
    expect(sent.filter((line) => line.includes('appetite'))).toEqual([])
  })
})

describe('a service that differs', () => {
  const at = (part: string, change: (answer: PassingAnswer) => void) => (answer: PassingAnswer) => {
    if (answer.path.includes(part) && answer.status === 200) change(answer)
  }
  const refuse = (status: number) => (answer: PassingAnswer) => {
    answer.status = status
    answer.body = Buffer.from('{"detail":"no"}')
  }

  it.each<[row: string, says: RegExp, alter: (answer: PassingAnswer) => void]>([
    ['me', /kind is integer/, at('/broker/me', (a) => alterJson(a, (b) => Object.assign(b, { kind: 7 })))],
    [
      'requirements',
      /rail\.generated_at is integer/,
      at('/requirements', (a) => alterJson(a, (b) => Object.assign(b.rail, { generated_at: 7 }))),
    ],
    ['workspace', /403/, at('/application-workspace', refuse(403))],
    ['events', /next_cursor is missing/, at('/events', (a) => alterJson(a, (b) => delete b.next_cursor))],
  ])('%s: %s', async (row, says, alter) => {
    const found = await differing(alter)
    expect(found.of('differs')).toMatchObject([{ row, ok: false, text: expect.stringMatching(says) }])
    expect(found.code).toBe(1)
  })

  it('in the answer of the token endpoint is not compared at all', async () => {
    const found = await differing((answer) => answer.path.endsWith('/oauth/token') && refuse(500)(answer))
    expect([found.code, found.found]).toMatchObject([1, [{ row: null, result: 'failed', text: expect.stringContaining('500') }]])
  })

  it('in additions agrees; without a usable answer it is not checked', async () => {
    const found = await differing((answer) => {
      if (answer.path.endsWith('/requirements') && answer.status === 200)
        alterJson(answer, (view) => Object.assign(view, { renewal: 1, marketing_status: 'paused' }))
      if (answer.path.endsWith('/outstanding-requirements')) refuse(503)(answer)
      if (answer.path.endsWith('/sessions')) answer.body = Buffer.from('<html>')
    })
    expect(found.code).toBe(0)
    expect(found.row('requirements')).toMatchObject({ result: 'agrees', more: ['marketing_status (value)', 'renewal'] })
    expect(found.row('outstanding')).toMatchObject({ ok: null, result: 'unchecked', text: expect.stringContaining('503') })
    expect(found.row('sessions')).toMatchObject({ ok: null, result: 'unchecked', text: expect.stringContaining('is not JSON') })
  })

  it('in a choice that the specification leaves open agrees', async () => {
    const other = await closedAtEnd(played({ unshown: { missing_token: 403, invalid_cursor: 422, me_scope: 'list' } }))
    const [id = ''] = other.submissionIds('default')
    const found = await compared({ ...accountEnv(other), ...nowhere }, '--submission', id)
    expect(found.of('differs')).toEqual([])
  })
})

describe('an answer and a schema', () => {
  it('differ where a field is missing or of another type; fields and values that the schema does not name are more', () => {
    const event = { id: '0b5f0a9e-6b1c-4a53-9d3c-0a4f6f2f9b11', type: 'reinstated', occurred_at: 7, region: 'x' }
    expect(compare(eventsPageSchema, { events: [event, { ...event, id: 'seven' }] })).toEqual({
      problems: ['events[].occurred_at is integer', 'events[].id is string, no uuid', 'next_cursor is missing'],
      more: ['events[].type (value)', 'events[].region'],
    })
    expect(compare(eventsPageSchema, [])).toMatchObject({ problems: ['the answer is array'] })
  })

  it('are compared without printing a value', () => {
    const secret = '123-45-6789'
    const found = compare(z.looseObject({ a: z.int(), b: z.record(z.string(), z.string()) }), {
      a: secret,
      b: { [secret]: 1 },
      [secret]: 1,
    })
    expect(JSON.stringify(found)).not.toContain('6789')
  })
})

describe('the output', () => {
  it('has a line for each view and a sum, and the reason when the mirror knows no submission', async () => {
    const ended = await runHere(['doctor', '--conformance', '--account', 'default'], { ...accountEnv(sandbox), ...nowhere })
    expect(ended.out).toMatch(/^Conformance of account default, by reading http/)
    expect(ended.out).toMatch(
      /^– events \(GET .*\): not checked: no submission is known; track one, or use --submission ID \(there is no database at /m,
    )
    expect(ended.out).toMatch(/\n10 views: 1 agree, 0 differ, 9 not checked\n$/)
  })

  it('is one sentence when the service cannot be reached, or rejects the credentials', async () => {
    const away = await compared({ ...accountEnv(sandbox), ...nowhere, BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1' })
    const says = (text: RegExp) => [{ ok: false, row: null, result: 'failed', text: expect.stringMatching(text) }]
    expect([away.code, away.found]).toMatchObject([
      1,
      says(/^the service doesn't answer at http:\/\/127\.0\.0\.1:9\/api\/v1 \(.*\); check/),
    ])
    const wrong = await compared({ ...accountEnv(sandbox), ...nowhere, BROKER_API_CLIENT_SECRET: 'bas_wrong' })
    expect([wrong.code, wrong.found]).toMatchObject([
      1,
      says(/^the service rejects the credentials of account default \(.*40\d.*\); compare id, secret/),
    ])
    expect(JSON.stringify(wrong.found)).not.toContain('bas_wrong')
  })

  it('is about the command line when that is wrong', async () => {
    const env = { ...accountEnv(sandbox), ...nowhere }
    for (const [args, says] of [
      [['--account', 'default'], /--account works only with --conformance/],
      [['--conformance', '--account', 'nobody'], /nobody/],
      [['--conformance', '--submission', 'seven'], /--submission/],
      [['--conformance', '--destination', 'ams'], /--destination/],
    ] as const) {
      const ended = await runHere(['doctor', ...args], env)
      expect([ended.code, ended.err]).toEqual([2, expect.stringMatching(says)])
    }
  })
})
