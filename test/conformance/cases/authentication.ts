import assert from 'node:assert/strict'
import {
  bearer,
  Forbidden,
  loopbackLogin,
  NotFound,
  type StoredTokens,
  Unauthenticated,
  ValidationError,
} from '../../../src/client/exports.ts'
import { brief } from '../../sandbox/writer.ts'
import { type Case, type Desk, NOBODYS, refused } from '../desk.ts'

const nobody = bearer('')

const machines: readonly Case[] = [
  {
    name: 'a machine exchanges its key, gets no refresh token, and can read its identity',
    rows: ['endpoint.exchangeToken', 'endpoint.getIdentity', 'authentication.machine', 'authentication.lifetime'],
    run: async (desk) => {
      const { status, body } = await desk.exchange('own')
      assert.deepEqual([status, 'refresh_token' in body], [200, false])
      const me = await desk.client.me()
      assert.ok(me.kind === 'api_client')
      assert.match(String(me.client_id), /^bac_/)
      assert.match(desk.key('own').clientSecret, /^bas_/)
    },
  },
  {
    name: 'every operation needs a token',
    rows: ['authentication.bearer'],
    run: async (desk) => {
      const client = desk.clientOf(nobody)
      await refused(client.me(), 401, Unauthenticated)
      await refused(client.policies.get(NOBODYS), 401, Unauthenticated)
      await refused(client.submissions.create(brief('A LLC')), 401, Unauthenticated)
    },
  },
  {
    name: 'a token lives 60 minutes',
    rows: ['limit.token'],
    run: async (desk) => {
      const { body } = await desk.exchange('own')
      const client = desk.clientOf(bearer(body.access_token))
      desk.pass(59 * 60)
      await client.me()
      desk.pass(2 * 60)
      await refused(client.me(), 401, Unauthenticated)
    },
  },
  {
    name: 'a read-only key never writes; the write scope also reads',
    rows: ['error.scope', 'authentication.read_scope', 'authentication.write_scope', 'authentication.machine'],
    run: async (desk) => {
      const writer = desk.as('own', 'broker_submit')
      await writer.me()
      await writer.submissions.create(brief('A LLC'))
      const reader = desk.as('readOnly')
      await reader.me()
      await refused(reader.submissions.create(brief('B LLC')), 403, Forbidden)
      const { status, body } = await desk.exchange('readOnly', { scope: 'broker_submit' })
      if (status === 200) await refused(desk.clientOf(bearer(body.access_token)).submissions.create(brief('B LLC')), 403, Forbidden)
    },
  },
  {
    name: 'a brokerage has ten active keys; a revoked one frees its place and gets no token',
    rows: ['limit.keys', 'authentication.keys', 'error.inactive'],
    run: async (desk) => {
      const made: string[] = []
      for (;;) {
        const { status, body } = await desk.admin('/keys', { label: 'one more', scope: ['broker_mcp'] })
        if (status !== 200) break
        made.push(body.client_id)
        assert.ok(made.length <= 10)
      }
      const { body } = await desk.admin('/keys', {}, 'GET')
      assert.equal(body.keys.filter(({ active }: { active: boolean }) => active).length, 10)
      const client = desk.clientOf(bearer((await desk.exchange('readOnly')).body.access_token))
      await client.me()
      await desk.admin(`/keys/${desk.key('readOnly').clientId}`, {}, 'DELETE')
      assert.ok((await desk.exchange('readOnly')).status >= 400)
      await refused(client.me(), 403, Forbidden)
      assert.equal((await desk.admin('/keys', { label: 'in its place', scope: ['broker_mcp'] })).status, 200)
    },
  },
  {
    name: 'writes of a machine name an active user',
    rows: ['error.producer', 'authentication.attribution'],
    run: async (desk) => {
      const client = desk.clientOf(bearer((await desk.exchange('own')).body.access_token), null)
      for (const producer_email of [undefined, 'nobody@elsewhere.invalid'])
        await refused(client.submissions.create(brief('A LLC', { producer_email })), 422, ValidationError)
      const id = await desk.create('A LLC', { hold: true })
      await refused(client.submissions.post(id, { body: 'Any news?' }), 422, ValidationError)
      await refused(client.submissions.answer(id, []), 422, ValidationError)
    },
  },
  {
    name: 'machines neither manage keys nor select products; an admin in the portal does',
    rows: ['authentication.portal'],
    run: async (desk) => {
      const manage = async (token: string) => {
        const init = { method: 'POST', body: JSON.stringify({ label: 'x' }), headers: { authorization: `Bearer ${token}` } }
        return (await fetch(`${desk.sandbox.origin}/_sandbox/keys`, init)).status
      }
      assert.equal(await manage((await desk.exchange('own')).body.access_token), 403)
      await desk.admin('/keys', { client_id: desk.key('readOnly').clientId }, 'DELETE')
      assert.equal(await manage((await desk.admin('/portal-session', { email: await admin(desk) })).body.access_token), 200)
      const body = { program_ids: [NOBODYS], selected_ids: [], expected_revision: 0 }
      await refused(desk.client.submissions.quoteProducts(await desk.create('A LLC'), body), 403, Forbidden)
    },
  },
]

export async function admin(desk: Desk): Promise<string> {
  const email = 'admin@desk.example'
  await desk.admin('/users', { email, role: 'admin' })
  return email
}

const people: readonly Case[] = [
  {
    name: 'the metadata lists the endpoints',
    rows: ['endpoint.getMetadata'],
    run: async (desk) => {
      const body = (await desk.clientOf(nobody).request('GET', '/oauth/.well-known/oauth-authorization-server')) as Record<string, unknown>
      for (const name of ['token', 'authorization', 'device_authorization', 'registration'])
        assert.match(String(body[`${name}_endpoint`]), /^http:/)
      assert.ok(body['grant_types_supported'] && body['scopes_supported'])
    },
  },
  {
    name: 'a client registers, a person approves it in a browser with PKCE, and its refresh tokens rotate',
    rows: [
      'endpoint.authorize',
      'endpoint.registerClient',
      'authentication.code',
      'authentication.registration',
      'authentication.lifetime',
    ],
    run: async (desk) => {
      const stored: StoredTokens[] = []
      const open = async (url: string) => {
        const { search } = new URL(url)
        await fetch(`${desk.sandbox.origin}/_sandbox/authorize-as${search}&email=${encodeURIComponent(desk.producer)}`)
      }
      const tokens = {
        load: () => Promise.resolve(stored.at(-1) ?? null),
        store: async (pair: StoredTokens) => void stored.push(pair),
      }
      const client = desk.clientOf(loopbackLogin({ scope: 'broker_mcp', open, tokens }))
      const me = await client.me()
      assert.ok(me.kind === 'user' && me.email === desk.producer)
      desk.pass(61 * 60)
      await client.me()
      const refreshTokens = stored.map(({ refreshToken }) => refreshToken)
      assert.equal(new Set(refreshTokens).size, 2)
      const registered = await desk.clientOf(nobody).request('POST', '/oauth/register', {
        body: { client_name: 'desk', redirect_uris: ['http://127.0.0.1:1/callback'] },
      })
      assert.deepEqual(['client_id' in Object(registered), 'client_secret' in Object(registered)], [true, false])
    },
  },
  {
    name: 'a device is pending until a person approves it',
    rows: ['endpoint.authorizeDevice', 'authentication.device'],
    run: async (desk) => {
      const app = { client_name: 'desk', redirect_uris: ['http://127.0.0.1/callback'] }
      const { client_id } = (await desk.client.request('POST', '/oauth/register', { body: app })) as { client_id: string }
      const device = await desk.form('/oauth/device_authorization', { client_id, scope: 'broker_mcp' })
      for (const name of ['device_code', 'user_code', 'verification_uri', 'verification_uri_complete', 'interval', 'expires_in'])
        assert.ok(device.body[name], name)
      const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
      const grant = { grant_type, device_code: device.body.device_code, client_id }
      const pending = await desk.form('/oauth/token', grant)
      assert.equal(pending.body.error ?? pending.body.detail, 'authorization_pending')
      await desk.admin('/approve', { user_code: device.body.user_code, email: desk.producer })
      desk.pass(10)
      const tokens = await desk.form('/oauth/token', grant)
      assert.ok(tokens.body.access_token && tokens.body.refresh_token)
    },
  },
  {
    name: 'an inactive person is refused',
    rows: ['error.inactive'],
    run: async (desk) => {
      const client = await desk.inPortal(desk.producer)
      await client.me()
      await desk.admin('/users', { email: desk.producer, role: 'broker', active: false })
      await refused(client.me(), 403, Forbidden)
    },
  },
  {
    name: 'an incomplete request is refused with a list of problems',
    rows: ['error.validation'],
    run: async (desk) => {
      for (const path of ['/oauth/token', '/oauth/device_authorization']) {
        const { status, body } = await desk.form(path, {})
        assert.equal(status, 422)
        assert.ok(Array.isArray(body.detail) && body.detail[0].loc && body.detail[0].msg && body.detail[0].type)
      }
    },
  },
  {
    name: "unknown data and another brokerage's data is not found",
    rows: ['error.not_found'],
    run: async (desk) => {
      const { clientId, clientSecret } = desk.sandbox.account('brokerage-2').credentials[0] ?? {}
      const form = { grant_type: 'client_credentials', client_id: clientId ?? '', client_secret: clientSecret ?? '' }
      const stranger = desk.clientOf(bearer((await desk.form('/oauth/token', form)).body.access_token))
      const own = await desk.create('A LLC')
      const askers = [
        [stranger, own],
        [desk.client, NOBODYS],
      ] as const
      for (const [client, id] of askers) {
        await refused(client.submissions.requirements(id), 404, NotFound)
        await refused(client.submissions.outstanding(id), 404, NotFound)
        await refused(client.submissions.events(id), 404, NotFound)
        await refused(client.submissions.thread(id), 404, NotFound)
        await refused(client.submissions.workspace(id), 404, NotFound)
        await refused(client.policies.get(NOBODYS), 404, NotFound)
        await refused(client.insureds.get(NOBODYS), 404, NotFound)
        await refused(client.documents.pdf(NOBODYS), 404, NotFound)
      }
    },
  },
]

export const authenticationCases: readonly Case[] = [...machines, ...people]
