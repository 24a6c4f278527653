import { expect, test } from 'vitest'
import { sandboxFor } from '../support.ts'
import { matched, Writer } from '../writer.ts'

const sessions = (writer: Writer, id: string) => async (provider: string) => {
  const { body } = await writer.get(`/broker/submissions/${id}/application-workspace`)
  return body.applications.find(({ provider_key }: { provider_key: string }) => provider_key === provider)
}

function command(application: { answer_revision: number; schema_fingerprint: string }, operation_id: string, more: object) {
  const { answer_revision, schema_fingerprint } = application
  return { operation_id, expected_answer_revision: answer_revision, expected_schema_fingerprint: schema_fingerprint, ...more }
}

async function applied() {
  const made = await matched()
  const { id } = made
  const applicationOf = sessions(made.writer, id)
  const save = (application: { application_id: string }, body: object) =>
    made.writer.post(`/broker/submissions/${id}/applications/${application.application_id}/checkpoint`, body)
  return { ...made, applicationOf, save }
}

test("a program's assumptions are marked as assumed until answered", async () => {
  const { applicationOf, save } = await applied()
  const before = await applicationOf('quickwell')
  expect(before).toMatchObject({ answers: { years_in_business: 12, prior_losses: 'none' }, missing: [], readiness: 'ready_for_quote' })
  expect(before.ownership.years_in_business).toMatchObject({ kind: 'derived', source: { evidence: 'assumed' } })
  const saved = await save(before, command(before, 'one', { field_changes: { years_in_business: 3, unknown: 1, prior_losses: 'lots' } }))
  expect(saved).toMatchObject({
    status: 200,
    body: { applied: ['years_in_business'], fact_changes: [{ key: 'years_in_business', value: 3 }] },
  })
  expect(saved.body.rejected.map(({ key }: { key: string }) => key)).toEqual(['unknown', 'prior_losses'])
  expect(await applicationOf('quickwell')).toMatchObject({
    answers: { years_in_business: 3 },
    ownership: { years_in_business: { kind: 'explicit' } },
  })
})

test('a cleared answer is asked again; an outstanding answer reaches the application and raises its revision', async () => {
  const { writer, id, applicationOf, save } = await applied()
  const before = await applicationOf('quickwell')
  const cleared = await save(before, command(before, 'clear', { explicit_clears: ['prior_losses'] }))
  expect(cleared.body.application).toMatchObject({ missing: ['prior_losses'], readiness: 'needs_information' })
  expect('prior_losses' in cleared.body.application.answers).toBe(false)
  const outstanding = await writer.get(`/broker/submissions/${id}/outstanding-requirements`)
  expect(outstanding.body.items.map(({ key }: { key: string }) => key)).toContain('question:prior_losses')
  const answers = [{ key: 'question:prior_losses', value: 'more' }]
  expect((await writer.post(`/broker/submissions/${id}/outstanding-requirements/answers`, { answers })).body.routed).toBe(1)
  const after = await applicationOf('quickwell')
  expect(after).toMatchObject({ answers: { prior_losses: 'more' }, missing: [], answer_revision: before.answer_revision + 2 })
})

test('an answer of one application reaches others that assumed it, and raises their revision', async () => {
  const { writer, id, applicationOf, save } = await applied()
  const [other, own] = [await applicationOf('quickwell'), await applicationOf('beacon-direct')]
  const saved = await save(own, command(own, 'op 1', { field_changes: { prior_losses: 'more' } }))
  expect(saved.body).toMatchObject({ applied: ['prior_losses'], application: { answer_revision: own.answer_revision + 1 } })
  const answered = { answers: { prior_losses: 'more' }, answer_revision: other.answer_revision + 1 }
  expect(await applicationOf('quickwell')).toMatchObject(answered)
  expect(await applicationOf('beacon-direct')).toMatchObject(saved.body.application)
  const { facts } = (await writer.get(`/broker/submissions/${id}/application-workspace`)).body
  expect(facts.facts).toContainEqual(expect.objectContaining({ key: 'prior_losses', value: 'more' }))
})

test('lists of records are stored by id; an unavailable product is rejected', async () => {
  const { applicationOf, save } = await applied()
  const change = (operation: string, record_id: string, changes: object) => ({ field_key: 'drivers', operation, record_id, changes })
  const first = await applicationOf('quickwell')
  const inserted = await save(first, command(first, 'insert', { collection_operations: [change('insert', 'a', { name: 'Ann' })] }))
  expect(inserted.body).toMatchObject({ applied: ['drivers'], application: { answers: { drivers: [{ record_id: 'a', name: 'Ann' }] } } })
  const { application } = inserted.body
  const twice = await save(application, command(application, 'again', { collection_operations: [change('insert', 'a', {})] }))
  expect(twice).toMatchObject({ status: 422, body: { detail: { code: 'application_command_rejected' } } })
  const strange = await save(application, command(application, 'product', { selected_products: ['kidnap_and_ransom'] }))
  expect(strange.status).toBe(422)
  const removed = await save(application, command(application, 'remove', { collection_operations: [change('remove', 'a', {})] }))
  expect(removed.body.application.answers.drivers).toEqual([])
})

test.each(['__proto__', 'constructor'])('%s is a valid name of an operation, a field, a record and a key', async (name) => {
  const { writer, id, applicationOf, save } = await applied()
  const before = await applicationOf('quickwell')
  const insert = { field_key: name, operation: 'insert', record_id: name, changes: { named: true } }
  const saved = await save(before, command(before, name, { collection_operations: [insert] }))
  expect(saved).toMatchObject({ status: 200, body: { operation_id: name, applied: [name] } })
  expect(Object.entries((await applicationOf('quickwell')).answers)).toContainEqual([name, [{ record_id: name, named: true }]])
  expect(await save(before, command(before, name, {}))).toMatchObject({ status: 200, body: saved.body })
  const reply = () => writer.post(`/broker/submissions/${id}/thread`, { body: 'Any news?' }, { 'idempotency-key': name })
  const { body: first } = await reply()
  expect(first.message_id).toEqual(expect.any(String))
  expect((await reply()).body).toEqual(first)
  expect('named' in {}).toBe(false)
})

test('a generated submission accepts checkpoints; unknown applications and unauthorized callers are refused', async () => {
  const sandbox = await sandboxFor({ submissions: 6 })
  const writer = await new Writer(sandbox).login()
  const views = await Promise.all(
    sandbox
      .submissionIds('default')
      .map(async (id) => ({ id, view: (await writer.get(`/broker/submissions/${id}/application-workspace`)).body })),
  )
  const { id, view } = views.find((one) => one.view.applications.length > 0) ?? { id: '', view: { applications: [] } }
  const [application] = view.applications
  const path = (session: string) => `/broker/submissions/${id}/applications/${session}/checkpoint`
  const body = command(application, 'one', { field_changes: { years_in_business: 7 } })
  expect((await writer.post(path(application.application_id), { ...body, producer_email: 'nobody@elsewhere.invalid' })).status).toBe(422)
  expect((await writer.post(path(application.application_id), body)).body.application.answers.years_in_business).toBe(7)
  expect((await writer.post(path('00000000-0000-4000-8000-000000000000'), body)).status).toBe(404)
  const reader = await new Writer(sandbox).login('readOnly')
  expect((await reader.post(path(application.application_id), body)).status).toBe(403)
})
