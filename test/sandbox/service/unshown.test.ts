import { expect, test } from 'vitest'
import { chosenConditions as statuses } from '../../../src/client/openapi/conditions.ts'
import { sandboxCommandSchema } from '../../../src/sandbox/command.ts'
import { mixOf, parseUnshown, Unshown } from '../../../src/sandbox/service/unshown.ts'
import { words } from '../../../src/sandbox/service/unshown-choices.ts'
import { Client, replyOf, sandboxFor } from '../support.ts'

interface Choice {
  name: string
  row: string
  choice: unknown
  option: string
  alternatives: unknown[]
}

async function choices(origin: string): Promise<Map<string, Choice>> {
  const { body } = await replyOf(fetch(`${origin}/_sandbox/variants`))
  return new Map(body.variants.map((choice: Choice) => [choice.name, choice]))
}

test('every choice is listed with its row, its option and other values', async () => {
  const { origin } = await sandboxFor({ retryScheduleMs: [1, 2], eventsPayload: 'data' })
  const all = await choices(origin)
  expect(all.get('missing_token')).toEqual({
    name: 'missing_token',
    row: expect.stringContaining('unauthenticated'),
    choice: 401,
    option: expect.stringContaining('--variants missing_token='),
    alternatives: [403],
  })
  expect(all.get('events_payload')).toMatchObject({ choice: 'data', option: '--events-payload' })
  expect(all.get('retry_schedule')).toMatchObject({ choice: [1, 2], option: '--retry-schedule' })
  expect(all.get('policy_fields')).toMatchObject({ option: 'none: it cannot be varied' })
  for (const choice of all.values()) {
    expect(choice.name).toMatch(/^[a-z][a-z0-9_]*$/)
    expect(choice.row, choice.name).not.toBe('')
    expect(choice.alternatives.length, choice.name).toBeGreaterThan(0)
    expect(choice.alternatives, choice.name).not.toContain(choice.choice)
  }
})

test('the service answers with a chosen value', async () => {
  const sandbox = await sandboxFor({ unshown: { missing_token: 403, invalid_cursor: '422', inactive_credential: 410, me_scope: 'list' } })
  const submissionId = sandbox.addSubmission('default')
  const client = new Client(sandbox)
  expect((await client.get('/broker/me')).status).toBe(403)
  await client.login()
  expect((await client.page('events', submissionId, { since: 'nonsense' })).status).toBe(422)
  expect(await (await client.get('/broker/me')).json()).toMatchObject({ scope: ['broker_mcp', 'broker_submit'] })
  sandbox.access.revokeKey(sandbox.account('default'), sandbox.account('default').credentials[0]?.clientId ?? '')
  expect((await client.get('/broker/me')).status).toBe(410)
  expect((await choices(sandbox.origin)).get('invalid_cursor')).toMatchObject({ choice: 422, alternatives: [400, 404, 410] })
})

test('the command line accepts name=value, and reports problems', () => {
  expect(sandboxCommandSchema.parse({ variants: 'missing_token=403, busy_retry_after_s=7' }).variants).toEqual({
    missing_token: '403',
    busy_retry_after_s: '7',
  })
  const read = new Unshown(parseUnshown('busy_retry_after_s=7,thread_post_id_field=id'))
  expect([read.number('busy_retry_after_s'), read.word('thread_post_id_field'), read.status('blank_body')]).toEqual([7, 'id', 422])
  for (const [text, reason] of [
    ['missing_token', 'missing_token must be name=value'],
    ['missing_token=200', 'missing_token must be a whole number from 400 to 599, not 200'],
    ['busy_retry_after_s=soon', /^busy_retry_after_s must be a whole number from 0 to \d+, not soon$/],
    ['thread_post_id_field=x', 'thread_post_id_field must be message_id or id or thread_message_id, not x'],
    ['mix=7,nulls=x', 'nulls must be null or absent, not x'],
    ['toString=1', 'there is no choice toString; GET /_sandbox/variants lists all'],
  ] as const) {
    expect(() => parseUnshown(text)).toThrow(reason)
    expect(sandboxCommandSchema.safeParse({ variants: text }).success).toBe(false)
  }
})

test('a mix chooses every variant by its seed, except those named', () => {
  const mix = mixOf('7')
  expect(mixOf('7')).toEqual(mix)
  expect(parseUnshown('mix=7')).toEqual(mix)
  expect(Object.keys(mix).sort()).toEqual(Object.keys({ ...statuses, ...words }).sort())
  expect(parseUnshown('nulls=null,mix=7,missing_token=403')).toEqual({ ...mix, nulls: 'null', missing_token: '403' })
  const mixes = Array.from({ length: 200 }, (_, seed) => mixOf(String(seed)))
  for (const [name, { values }] of Object.entries(words)) expect(new Set(mixes.map((each) => each[name]))).toEqual(new Set(values))
})
