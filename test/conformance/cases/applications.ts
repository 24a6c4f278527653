import assert from 'node:assert/strict'
import { Busy, type Client, Forbidden, ServiceError, StaleApplication, ValidationError } from '../../../src/client/exports.ts'
import { type Case, type Desk, NOBODYS, refused } from '../desk.ts'
import { admin } from './authentication.ts'

async function asking(desk: Desk) {
  const id = await desk.create('Harrow Roofing LLC')
  desk.pass(360)
  const application = await askingOf(desk.client, id)
  const command = {
    operation_id: 'first',
    expected_answer_revision: application.answer_revision,
    expected_schema_fingerprint: application.schema_fingerprint,
  }
  const save = (more: object) => desk.client.submissions.checkpoint(id, application.application_id, { ...command, ...more })
  return { id, application, command, save }
}

async function askingOf(client: Client, id: string) {
  const { applications = [] } = await client.submissions.workspace(id)
  const application = applications.find(({ missing = [] }) => missing.length > 0)
  assert.ok(application)
  return application
}

export const applicationCases: readonly Case[] = [
  {
    name: 'an application needs information until every question is answered',
    rows: ['endpoint.getWorkspace', 'endpoint.getQuoteSessions', 'endpoint.saveCheckpoint', 'state.readiness'],
    run: async (desk) => {
      const { id, application, save } = await asking(desk)
      assert.equal(application.readiness, 'needs_information')
      assert.ok((await desk.client.submissions.quoteSessions(id)) !== undefined)
      const field_changes = Object.fromEntries((application.missing ?? []).map((key) => [key, 500_000]))
      const receipt = await save({ field_changes })
      assert.deepEqual([receipt.operation_id, receipt.applied, receipt.rejected], ['first', application.missing, []])
      assert.equal(receipt.application?.readiness, 'ready_for_quote')
      assert.equal(receipt.application?.answer_revision, application.answer_revision + 1)
      const { applications = [] } = await desk.client.submissions.workspace(id)
      const saved = applications.find(({ application_id }) => application_id === application.application_id)
      assert.deepEqual([saved?.answers, saved?.answer_revision], [receipt.application?.answers, receipt.application?.answer_revision])
      assert.deepEqual(await save({ field_changes: {} }), receipt)
    },
  },
  {
    name: 'an outdated checkpoint gets the current application',
    rows: ['error.checkpoint_stale'],
    run: async (desk) => {
      const { application, save } = await asking(desk)
      const { application: current } = await save({ explicit_clears: ['years_in_business'] })
      for (const more of [{}, { expected_answer_revision: current?.answer_revision, expected_schema_fingerprint: 'another' }]) {
        const stale = await refused(save({ operation_id: 'second', ...more }), 409, StaleApplication)
        assert.ok(stale.code)
        assert.deepEqual(
          [stale.application.application_id, stale.application.answer_revision],
          [application.application_id, current?.answer_revision],
        )
      }
    },
  },
  {
    name: 'an invalid command is rejected, and changes nothing',
    rows: ['error.checkpoint_rejected'],
    run: async (desk) => {
      const { id, application, save } = await asking(desk)
      const rejected = await refused(save({ field_changes: { classification: 'astronaut' } }), 422, ServiceError)
      assert.equal(rejected.code, 'application_command_rejected')
      assert.deepEqual(await askingOf(desk.client, id), application)
    },
  },
  {
    name: 'a busy application is saved by the same operation later',
    rows: ['error.checkpoint_busy'],
    run: async (desk) => {
      const { save } = await asking(desk)
      desk.sandbox.faults.add({ kind: 'application_busy', count: 1 })
      const busy = await refused(save({ explicit_clears: ['prior_losses'] }), 409, Busy)
      assert.deepEqual([busy.code, busy.retryAfterS], ['application_busy', 1])
      assert.deepEqual((await save({ explicit_clears: ['prior_losses'] })).applied, ['prior_losses'])
    },
  },
  {
    name: 'products are selected only in the portal, 1 to 100, on the current revision',
    rows: ['endpoint.selectProducts', 'error.selection', 'limit.products', 'authentication.portal'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC')
      const ids = Array.from({ length: 101 }, (_, index) => NOBODYS.slice(0, -3) + String(index).padStart(3, '0'))
      const body = { program_ids: ids.slice(0, 100), selected_ids: ids.slice(0, 100), expected_revision: 1 }
      await refused(desk.client.submissions.quoteProducts(id, body), 403, Forbidden)
      const { submissions, request } = await desk.inPortal(await admin(desk))
      const path = `/broker/submissions/${id}/application-workspace/quote-products`
      for (const wrong of [{ program_ids: [] }, { program_ids: ids }, { selected_ids: ids }]) {
        await refused(request('PUT', path, { body: { ...body, ...wrong } }), 422, ValidationError)
      }
      await submissions.quoteProducts(id, body)
      await refused(submissions.quoteProducts(id, body), 409)
    },
  },
]
