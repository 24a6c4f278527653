import { expect, test } from 'vitest'
import { Described } from '../../tools/described.ts'
import { askAtRandom } from '../../tools/random-requests.ts'
import { Client, sandboxFor } from '../support.ts'
import { Writer } from '../writer.ts'

test('a thousand random requests are answered as documented, without failures', async () => {
  const sandbox = await sandboxFor({ submissions: 1, seed: 'random' })
  while (sandbox.story.step()) {}
  const [id = ''] = sandbox.submissionIds('default')
  const reader = await new Client(sandbox).login()
  const views = ['', '/application-workspace', '/requirements', '/thread'].map(async (view) =>
    (await reader.get(`/broker/submissions/${id}${view}`)).text(),
  )
  const text = (await Promise.all(views)).join('\n')
  const all = (name: string) => [...new Set([...text.matchAll(new RegExp(`"${name}":"?([^",}]+)`, 'g'))].map(([, value]) => value))]
  // Special names in JavaScript.
  const names = ['__proto__', 'constructor']
  const own = await new Writer(sandbox).login()
  const [admin, producer, readOnly] = [
    new Writer(sandbox).signIn('admin'),
    new Writer(sandbox).signIn('producer'),
    await new Writer(sandbox).login('readOnly'),
  ]
  const described = new Described((await (await fetch(`${sandbox.baseUrl}/openapi.json`)).json()) as object)
  const { wrong, statuses } = await askAtRandom(sandbox.baseUrl, described, {
    seed: 1,
    count: 1_000,
    operations: described.operations,
    known: {
      ...Object.fromEntries(['submission_id', 'insured_id', 'policy_id', 'bind_request_id', 'quote_id'].map((name) => [name, all(name)])),
      session_id: all('application_id'),
      document_id: [...text.matchAll(/finalized-documents\/([^/]+)/g)].map(([, document]) => document),
      expected_schema_fingerprint: all('schema_fingerprint'),
      expected_answer_revision: [0, 1, 2],
      expected_revision: [0, 1],
      key: ['years_in_business', 'prior_losses'],
      field_key: ['vehicles', ...names],
      record_id: ['1', ...names],
      operation_id: ['first', ...names],
      'idempotency-key': ['first', ...names],
      mode: [undefined],
      partner_program_ids: [undefined],
      producer_email: [own.producer],
      grant_type: ['client_credentials', 'refresh_token', 'authorization_code'],
      client_id: [sandbox.account('default').credentials[0]?.clientId],
      client_secret: [sandbox.account('default').credentials[0]?.clientSecret],
      insured_name: ['Harrow Roofing LLC', 'Kowalczyk LLC'],
      state: ['TX', 'NV'],
      primary_state: ['tx'],
    },
    authorizations: [
      ...[own, own, own, own, own, own, admin, admin, producer, producer, readOnly].map(({ headers }) => headers.authorization),
      'Bearer nonsense',
      undefined,
    ],
  })
  expect(wrong).toEqual([])
  expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 409, 422, 431]))
})
