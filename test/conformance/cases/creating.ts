import assert from 'node:assert/strict'
import { FileExists, Forbidden, NotFound, ValidationError } from '../../../src/client/exports.ts'
import { programs } from '../../../src/sandbox/world/catalogue.ts'
import { brief } from '../../sandbox/writer.ts'
import { type Case, NOBODYS, pdfOf, refused } from '../desk.ts'

const address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }

/** A refused body, and a similar accepted one. */
function limit(row: string, refusedBody: object, accepted: object): Case {
  return {
    name: `${row} is kept`,
    rows: [row],
    run: async ({ client }) => {
      await refused(client.request('POST', '/broker/submissions', { body: brief('A LLC', refusedBody) }), 422, ValidationError)
      await client.submissions.create(brief('A LLC', accepted))
    },
  }
}

const named = (more: object) => ({ applicant: { insured_name: 'A LLC', ...more } })
const located = (count: number, more: object = {}) => ({
  locations: Array.from({ length: count }, (_, index) => ({ location_number: index + 1, address, ...more })),
})

const limits: readonly Case[] = [
  limit('limit.insured_name', named({ insured_name: 'x'.repeat(257) }), named({ insured_name: 'x'.repeat(256) })),
  limit('limit.applicant', named({ contact_title: 'x'.repeat(129) }), named({ contact_title: 'x'.repeat(128), sic: 'x'.repeat(64) })),
  limit('limit.applicant', named({ sic: 'x'.repeat(65) }), named({ gl_code: 'x'.repeat(64) })),
  limit('limit.applicant', named({ gl_code: 'x'.repeat(65) }), named({})),
  limit('limit.locations', located(251), located(250)),
  limit(
    'limit.description',
    located(1, { description_of_operations: 'x'.repeat(10_001) }),
    located(1, { description_of_operations: 'x'.repeat(10_000) }),
  ),
  {
    name: 'a partner quotes 1 to 40 programs, each once',
    rows: ['limit.programs'],
    run: async (desk) => {
      const partner = desk.as('partner')
      const body = (partner_program_ids: readonly string[]) => brief('A LLC', { mode: 'rater', partner_program_ids })
      const [first = ''] = programs.map(({ programId }) => programId)
      const unknown = Array.from({ length: 41 }, (_, index) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`)
      for (const ids of [[], [first, first], unknown]) {
        await refused(partner.request('POST', '/broker/submissions', { body: body(ids) }), 422, ValidationError)
      }
      await desk.create('A LLC', body([first]), partner)
    },
  },
]

const creating: readonly Case[] = [
  {
    name: 'a created submission is matched after 300 seconds',
    rows: ['endpoint.createSubmission', 'endpoint.getRequirements', 'limit.matching', 'state.matching', 'state.matched'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC')
      const status = async () => (await desk.client.submissions.requirements(id)).marketing_status
      assert.equal(await status(), 'matching')
      desk.pass(300)
      assert.equal(await status(), 'matched')
    },
  },
  {
    name: 'a held submission waits for finalize',
    rows: ['endpoint.finalizeSubmission', 'state.matching'],
    run: async (desk) => {
      const id = await desk.create('Cedar Hollow LLC', { hold: true })
      desk.pass(1_000)
      assert.equal((await desk.client.submissions.requirements(id)).marketing_status, 'not_started')
      const answer = await desk.client.submissions.finalize(id)
      assert.deepEqual([answer.marketing_status, answer.typical_wait_seconds], ['matching', 300])
    },
  },
  {
    name: 'intake takes free text and a PDF',
    rows: ['endpoint.intake'],
    run: async ({ client }) => {
      const { submission_id } = await client.submissions.intake({ text: 'Bluestem Roofing LLC, roofers in TX', files: [pdfOf(2_000)] })
      assert.equal((await client.submissions.requirements(submission_id ?? '')).marketing_status, 'matching')
    },
  },
  {
    name: 'creation is refused as specified',
    rows: ['error.state', 'error.insured', 'error.rater', 'error.file_exists'],
    run: async (desk) => {
      const create = (more: object) => desk.client.submissions.create(brief('A LLC', more))
      const elsewhere = named({ mailing_address: { ...address, state: 'OH' } })
      assert.match(JSON.stringify((await refused(create(elsewhere), 422, ValidationError)).detail), /OH/)
      await refused(create({ insured_id: NOBODYS }), 404, NotFound)
      await refused(create({ mode: 'rater' }), 403, Forbidden)
      const id = await desk.create('A LLC')
      const exists = await refused(create({}), 409, FileExists)
      assert.deepEqual([exists.code, exists.submissionId], ['service_file_exists', id])
    },
  },
  {
    name: 'a partner’s submission that collides with its own lists the programs',
    rows: ['error.file_exists'],
    run: async (desk) => {
      const partner = desk.as('partner')
      const [first = ''] = programs.map(({ programId }) => programId)
      const rater = brief('A LLC', { mode: 'rater', partner_program_ids: [first] })
      const { submission_id } = await partner.submissions.create(rater)
      const collision = await refused(partner.submissions.create(rater), 409, FileExists)
      assert.deepEqual(
        collision.programs.map((one) => [one.program_id, one.submission_ids]),
        [[first, [submission_id]]],
      )
    },
  },
]

export const creatingCases: readonly Case[] = [...limits, ...creating]
