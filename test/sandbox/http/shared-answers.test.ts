import { expect, test } from 'vitest'
import { create, world } from '../writer.ts'

interface Application {
  readonly application_id: string
  readonly provider_key: string
  readonly answer_revision: number
  readonly schema_fingerprint: string
}

test('an answer of one application reaches the others that only assumed it, and raises their revision', async () => {
  const { writer, pass } = await world()
  const id = await create(writer, 'Harrow Roofing LLC')
  pass(300)
  const workspace = `/broker/submissions/${id}/application-workspace`
  const applications = async () => {
    const all: Application[] = (await writer.get(workspace)).body.applications
    return Object.fromEntries(all.map((one) => [one.provider_key, one]))
  }
  const { quickwell: other, 'beacon-direct': own } = await applications()
  if (!other || !own) throw new Error('there are not two applications')
  const saved = await writer.post(`/broker/submissions/${id}/applications/${own.application_id}/checkpoint`, {
    operation_id: 'op 1',
    expected_answer_revision: own.answer_revision,
    expected_schema_fingerprint: own.schema_fingerprint,
    field_changes: { prior_losses: 'more' },
  })
  expect(saved.body).toMatchObject({ applied: ['prior_losses'], application: { answer_revision: own.answer_revision + 1 } })
  const now = await applications()
  expect(now).toMatchObject({
    quickwell: { answers: { prior_losses: 'more' }, answer_revision: other.answer_revision + 1 },
    'beacon-direct': saved.body.application,
  })
  const { facts } = (await writer.get(workspace)).body
  expect(facts.facts).toContainEqual(expect.objectContaining({ key: 'prior_losses', value: 'more' }))
})
