import assert from 'node:assert/strict'
import { brief, type Case, NOBODYS } from '../desk.ts'

export const accessCases: readonly Case[] = [
  {
    name: 'the metadata names the endpoints',
    rows: ['endpoint.getMetadata'],
    run: async (desk) => {
      desk.signOut()
      const { status, body } = await desk.get('/oauth/.well-known/oauth-authorization-server')
      assert.equal(status, 200)
      assert.ok(body.token_endpoint && body.device_authorization_endpoint && body.registration_endpoint)
    },
  },
  {
    name: 'a machine exchanges its key, gets no refresh token, and is told who it is',
    rows: ['endpoint.exchangeToken', 'endpoint.getIdentity', 'authentication.machine', 'authentication.lifetime'],
    run: async (desk) => {
      const { status, body } = await desk.signIn()
      assert.deepEqual([status, 'refresh_token' in body], [200, false])
      const me = await desk.get('/broker/me')
      assert.equal(me.body.kind, 'api_client')
      assert.match(me.body.client_id, /^bac_/)
    },
  },
  {
    name: 'nothing is answered without a token',
    rows: ['authentication.bearer'],
    run: async (desk) => {
      desk.signOut()
      for (const path of ['/broker/me', `/broker/policies/${NOBODYS}`]) assert.equal((await desk.get(path)).status, 401)
    },
  },
  {
    name: 'a token lives 60 minutes',
    rows: ['limit.token'],
    run: async (desk) => {
      desk.pass(59 * 60)
      assert.equal((await desk.get('/broker/me')).status, 200)
      desk.pass(2 * 60)
      assert.equal((await desk.get('/broker/me')).status, 401)
    },
  },
  {
    name: 'a read-only key reads and does not write; the scope to write also reads',
    rows: ['error.scope', 'authentication.read_scope', 'authentication.write_scope'],
    run: async (desk) => {
      await desk.signIn('own', { scope: 'broker_submit' })
      assert.equal((await desk.get('/broker/me')).status, 200)
      await desk.signIn('readOnly')
      assert.equal((await desk.get('/broker/me')).status, 200)
      assert.equal((await desk.post('/broker/submissions', brief('A LLC'))).status, 403)
    },
  },
  {
    name: 'a revoked key gets no token',
    rows: ['authentication.keys'],
    run: async (desk) => {
      desk.sandbox.revokeCredential('default', desk.sandbox.account('default').credentials[0]?.clientId ?? '')
      assert.ok((await desk.signIn()).status >= 400)
    },
  },
  {
    name: 'writes of a machine name an active user',
    rows: ['error.producer', 'authentication.attribution'],
    run: async (desk) => {
      for (const producer_email of [undefined, 'nobody@elsewhere.invalid'])
        assert.equal((await desk.post('/broker/submissions', brief('A LLC', { producer_email }))).status, 422)
    },
  },
  {
    name: 'a client is registered without a secret, and authorizes a device that is pending until approved',
    rows: ['endpoint.registerClient', 'endpoint.authorizeDevice', 'authentication.registration', 'authentication.device'],
    run: async (desk) => {
      const registered = await desk.post('/oauth/register', { client_name: 'desk', redirect_uris: ['http://127.0.0.1:1/callback'] })
      assert.ok(registered.body.client_id)
      assert.equal('client_secret' in registered.body, false)
      const client = { client_id: String(registered.body.client_id) }
      const device = await desk.form('/oauth/device_authorization', { ...client, scope: 'broker_mcp' })
      assert.ok(device.body.user_code && device.body.verification_uri)
      const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: device.body.device_code, ...client }
      assert.equal((await desk.form('/oauth/token', grant)).body.error, 'authorization_pending')
      await desk.admin('/approve', { user_code: device.body.user_code, email: desk.producer })
      desk.pass(10)
      const tokens = await desk.form('/oauth/token', grant)
      assert.ok(tokens.body.access_token && tokens.body.refresh_token)
    },
  },
  {
    name: 'what nobody or another brokerage has is not found',
    rows: ['error.not_found'],
    run: async (desk) => {
      for (const path of ['submissions/ID/requirements', 'submissions/ID/events', 'policies/ID', 'insureds/ID'])
        assert.equal((await desk.get(`/broker/${path.replace('ID', NOBODYS)}`)).status, 404)
    },
  },
  {
    name: 'a token request without a grant type is refused with a list of problems',
    rows: ['error.validation'],
    run: async (desk) => {
      const { status, body } = await desk.form('/oauth/token', {})
      assert.equal(status, 422)
      assert.ok(Array.isArray(body.detail) && body.detail[0].loc && body.detail[0].msg && body.detail[0].type)
    },
  },
]
