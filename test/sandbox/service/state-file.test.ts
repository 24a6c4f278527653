import { copyFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { SandboxOptions } from '../../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { ask, Client, Endpoint, me, postForm, register, sandboxFor } from '../support.ts'

async function asked(sandbox: Sandbox, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await ask(sandbox, path, body)
  expect(answer.status, path).toBe(200)
  return answer.body
}

test('a world continues with its tokens, keys, users and story', async () => {
  const stateFile = join(newFolder(), 'world.json')
  const options: SandboxOptions = { stateFile, submissions: 3, clockKind: 'step', accounts: [{ name: 'acme' }, { name: 'zenith' }] }
  const first = await sandboxFor(options)
  for (let n = 0; n < 20; n++) first.story.step()
  await asked(first, '/clock', { advance_s: 90 })
  const key = await asked(first, '/keys', { account: 'zenith', label: 'made later', scope: 'broker_mcp' })
  await asked(first, '/users', { account: 'acme', email: 'ana@acme.invalid', role: 'admin' })
  const session = await asked(first, '/portal-session', { email: 'ana@acme.invalid' })
  const client = new Client(first, 'zenith')
  const machine = (await (await client.exchange()).json()) as { access_token: string }
  const secret = first.rotateWebhookSecret('zenith')
  const before = { truth: [first.truth('acme'), first.truth('zenith')], story: first.stats().story, clock: await asked(first, '/clock') }
  await first.close()

  const second = await sandboxFor({ ...options, submissions: 50 })
  expect({
    truth: [second.truth('acme'), second.truth('zenith')],
    story: second.stats().story,
    clock: await asked(second, '/clock'),
  }).toEqual(before)
  expect((await me(second, session['access_token'])).body).toMatchObject({ kind: 'user', email: 'ana@acme.invalid' })
  expect((await me(second, machine.access_token)).body).toMatchObject({ kind: 'api_client' })
  expect((await asked(second, '/keys?account=zenith'))['keys']).toContainEqual(expect.objectContaining({ client_id: key['client_id'] }))
  expect(second.account('zenith').webhookSecret).toBe(secret)
  const ids = new Set(second.truth('acme').flatMap(({ events, messages }) => [...events, ...messages].map(({ id }) => id)))
  const size = ids.size
  const added = second.truth('acme').map(({ submission_id }) => second.addMessage('acme', submission_id, { body_text: 'x' }).id)
  for (const id of added) ids.add(id)
  expect(ids.size).toBe(size + added.length)
  for (let step = second.story.step(); step; step = second.story.step());
  expect(second.stats().story).toMatchObject({ ended: true })
})

test('answers are saved before they are sent', async () => {
  const path = newFolder()
  const stateFile = join(path, 'world.json')
  const sandbox = await sandboxFor({ stateFile })
  const copies: string[] = []
  const snapshot = () => {
    const copy = join(path, `copy-${copies.length}.json`)
    copyFileSync(stateFile, copy)
    copies.push(copy)
  }
  const users = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      const { email } = await asked(sandbox, '/users', { email: `user${n}@acme.invalid`, role: 'broker' })
      snapshot()
      return email
    }),
  )
  const session = await asked(sandbox, '/portal-session', { email: users[0] })
  snapshot()
  expect(copies).toHaveLength(11)
  const last = copies.at(-1) ?? ''
  const after = await sandboxFor({ stateFile: last })
  expect(after.account('default').users.map(({ email }) => email)).toEqual(expect.arrayContaining(users))
  expect((await me(after, session['access_token'])).body).toMatchObject({ email: users[0] })
  expect(readdirSync(path).filter((name) => name.endsWith('.new'))).toEqual([])
})

test('pending deliveries are sent by the next process, in order, with their ids', async () => {
  const stateFile = join(newFolder(), 'world.json')
  let status = 500
  const endpoint = await Endpoint.open(() => status)
  const options: SandboxOptions = {
    stateFile,
    clockKind: 'step',
    retryScheduleMs: [60_000],
    accounts: [{ name: 'default', target: endpoint.url }],
  }
  const first = await sandboxFor(options)
  const submissionId = first.addSubmission('default')
  const said = ['one', 'two'].map((text) => first.addMessage('default', submissionId, { body_text: text }).id)
  await asked(first, '/clock', { advance_s: 0 })
  const [id] = endpoint.arrivals.map(({ headers }) => headers['svix-id'])
  await first.close()
  const failed = endpoint.arrivals.length
  status = 204
  const second = await sandboxFor(options)
  await second.deliveries.idle()
  expect(endpoint.contents.slice(failed).map(({ ids }) => ids)).toEqual(said.map((message) => [message]))
  expect(endpoint.arrivals[failed]?.headers['svix-id']).toBe(id)
  expect((await asked(second, '/deliveries'))['deliveries']).toMatchObject([{ outcome: 'acknowledged' }, { outcome: 'acknowledged' }])
})

test('grants survive a restart: refresh tokens, device codes and client ids', async () => {
  const stateFile = join(newFolder(), 'world.json')
  const clock = new ManualClock()
  const post = async (sandbox: Sandbox, path: string, form: Record<string, string>) => (await postForm(sandbox, `/oauth${path}`, form)).body
  const first = await sandboxFor({ stateFile, clock, unshown: { device_clients: 'registered' } })
  const { client_id } = (await register(first, { client_name: 'desk', redirect_uris: ['http://127.0.0.1/back'] })).body
  const { device_code = '', user_code = '' } = await post(first, '/device_authorization', { client_id })
  await first.close()
  const second = await sandboxFor({ stateFile, clock, unshown: { device_clients: 'registered' } })
  await asked(second, '/approve', { user_code, email: second.account('default').users[0]?.email })
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const { refresh_token = '' } = await post(second, '/token', { grant_type, device_code, client_id })
  await second.close()
  const third = await sandboxFor({ stateFile, clock, unshown: { device_clients: 'registered' } })
  expect(await post(third, '/token', { grant_type: 'refresh_token', refresh_token, client_id })).toHaveProperty('access_token')
  expect(await post(third, '/device_authorization', { client_id })).toHaveProperty('user_code')
})

test("another world's file is refused in one sentence", async () => {
  const path = newFolder()
  const stateFile = join(path, 'world.json')
  await (await sandboxFor({ stateFile, seed: 'mine' })).close()
  const file = (name: string, text: string) => {
    writeFileSync(join(path, name), text)
    return join(path, name)
  }
  for (const [options, reason] of [
    [{ stateFile, seed: 'yours' }, /holds the state of seed mine, not yours/],
    [{ stateFile, seed: 'mine', accounts: [{ name: 'acme' }] }, /holds the accounts default, not acme/],
    [{ stateFile: file('old.json', '{"version":0,"seed":"mine","accounts":["default"]}') }, /is a state file of version 0, not \d+/],
    [{ stateFile: file('odd.json', '[]') }, /is no state file/],
    [{ stateFile: file('cut.json', '{"version":1,"se') }, /is no state file/],
    [{ stateFile: path }, /cannot be read \(EISDIR\)/],
    [{ stateFile: join(path, 'none', 'world.json') }, /cannot be written to .* \(ENOENT\)/],
  ] as const) {
    const refused = await sandboxFor(options).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Error)
    expect(String((refused as Error).message).split('\n')).toEqual([expect.stringMatching(reason)])
  }
})
