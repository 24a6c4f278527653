import assert from 'node:assert/strict'
import { brief, type Case, NOBODYS } from '../desk.ts'

const address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }

/** A body that is refused, and its neighbour that is not. */
function limit(row: string, refused: object, accepted: object): Case {
  return {
    name: `${row} is kept`,
    rows: [row],
    run: async (desk) => {
      assert.equal((await desk.post('/broker/submissions', brief('A LLC', refused))).status, 422)
      assert.equal((await desk.post('/broker/submissions', brief('A LLC', accepted))).status, 200)
    },
  }
}

const named = (more: object) => ({ applicant: { insured_name: 'A LLC', ...more } })
const located = (count: number, more: object = {}) => ({
  locations: Array.from({ length: count }, (_, index) => ({ location_number: index + 1, address, ...more })),
})

const creating: readonly Case[] = [
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
    name: 'a created submission is matched after 300 seconds',
    rows: ['endpoint.createSubmission', 'endpoint.getRequirements', 'limit.matching', 'state.matching', 'state.matched'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC')
      const status = async () => (await desk.get(`/broker/submissions/${id}/requirements`)).body.marketing_status
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
      assert.equal((await desk.get(`/broker/submissions/${id}/requirements`)).body.marketing_status, 'not_started')
      const { body } = await desk.post(`/broker/submissions/${id}/finalize`)
      assert.deepEqual([body.marketing_status, body.typical_wait_seconds], ['matching', 300])
    },
  },
  {
    name: 'intake takes free text and a PDF',
    rows: ['endpoint.intake'],
    run: async (desk) => {
      const { status, body } = await desk.upload('/broker/intake', { text: 'Bluestem Roofing LLC, roofers in TX' }, 2_000)
      assert.deepEqual([status, typeof body.submission_id], [200, 'string'])
    },
  },
  {
    name: 'creation is refused as the table says',
    rows: ['error.state', 'error.insured', 'error.rater', 'error.file_exists'],
    run: async (desk) => {
      const post = (more: object) => desk.post('/broker/submissions', brief('A LLC', more))
      const state = await post({ applicant: { insured_name: 'A LLC', mailing_address: { ...address, state: 'OH' } } })
      assert.equal(state.status, 422)
      assert.match(JSON.stringify(state.body), /OH/)
      assert.equal((await post({ insured_id: NOBODYS })).status, 404)
      assert.equal((await post({ mode: 'rater' })).status, 403)
      const id = await desk.create('A LLC')
      const again = await post({})
      assert.equal(again.status, 409)
      assert.match(JSON.stringify(again.body), new RegExp(`service_file_exists.*${id}|${id}.*service_file_exists`))
    },
  },
]

/** A feed of 230 items: pages of 50 by default, clamped to `max`. */
function feed(row: string, endpoint: string, name: 'events' | 'thread', list: string, max: number): Case {
  return {
    name: `${name} come in pages of 50, clamped to 1 to ${max}, until the cursor is null`,
    rows: [endpoint, row, 'error.cursor'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC', { hold: true })
      desk.sandbox.fillFeeds('default', id, { events: 230, messages: 230 })
      const page = async (query: string) => (await desk.get(`/broker/submissions/${id}/${name}?${query}`)).body
      const sizes: [string, number][] = [
        ['', 50],
        ['limit=0', 1],
        ['limit=1000', max],
      ]
      for (const [query, size] of sizes) assert.equal((await page(query))[list].length, size)
      const seen = new Set<string>()
      let cursor: string | null = ''
      for (let pages = 0; cursor !== null && pages < 10; pages++) {
        const { next_cursor, [list]: items } = await page(`limit=1000&since=${encodeURIComponent(cursor)}`)
        for (const item of items as { id: string }[]) seen.add(item.id)
        cursor = next_cursor as string | null
      }
      assert.deepEqual([cursor, seen.size], [null, 230])
      assert.equal((await desk.get(`/broker/submissions/${id}/${name}?since=nonsense`)).status, 400)
    },
  }
}

const conversing: readonly Case[] = [
  feed('limit.events', 'endpoint.getEvents', 'events', 'events', 100),
  feed('limit.thread', 'endpoint.getThread', 'thread', 'messages', 200),
  {
    name: 'a reply is recorded once for each key, and answered within minutes',
    rows: ['endpoint.postThread', 'limit.idempotency_key', 'error.blank_body', 'error.foreign_document', 'limit.answer'],
    run: async (desk) => {
      const path = `/broker/submissions/${await desk.create('Harrow Roofing LLC', { hold: true })}/thread`
      const post = (body: object, key = 'k'.repeat(128)) => desk.post(path, body, { 'idempotency-key': key })
      const first = await post({ body: 'Payroll is $400k.' })
      assert.equal(first.body.status, 'received')
      assert.deepEqual((await post({ body: 'Payroll is $400k.' })).body, first.body)
      assert.equal((await post({ body: 'x' }, 'k'.repeat(129))).status, 422)
      assert.equal((await post({ body: ' \n' }, 'blank')).status, 422)
      assert.equal((await post({ body: 'x', document_ids: [NOBODYS] }, 'foreign')).status, 400)
      const directions = async () => (await desk.get(path)).body.messages.map(({ direction }: { direction: string }) => direction)
      assert.deepEqual(await directions(), ['inbound'])
      desk.pass(180)
      assert.deepEqual(await directions(), ['inbound', 'outbound'])
    },
  },
  {
    name: 'outstanding items are answered; keys that are not outstanding are skipped',
    rows: ['endpoint.getOutstanding', 'endpoint.postAnswers'],
    run: async (desk) => {
      const at = `/broker/submissions/${await desk.create('Harrow Roofing LLC')}/outstanding-requirements`
      desk.pass(360)
      const { items } = (await desk.get(at)).body as { items: { key: string; input: string }[] }
      const question = items.find(({ input }) => input === 'number')
      assert.ok(question)
      const answers = [
        { key: question.key, value: 5 },
        { key: 'never_asked', value: 1 },
      ]
      const { body } = await desk.post(`${at}/answers`, { answers })
      assert.deepEqual([body.applied, body.skipped.map(({ key }: { key: string }) => key)], [[question.key], ['never_asked']])
    },
  },
  {
    name: 'a document is attached and opens',
    rows: ['endpoint.uploadDocument', 'endpoint.getPdf', 'error.validation'],
    run: async (desk) => {
      const path = `/broker/submissions/${await desk.create('Harrow Roofing LLC', { hold: true })}/documents`
      const { body } = await desk.upload(path, { display_name: 'Loss runs' }, 2_000)
      assert.deepEqual([body.display_name, body.size_bytes], ['Loss runs', 2_000])
      const file = await desk.raw(body.download_path)
      assert.deepEqual([file.status, (await file.arrayBuffer()).byteLength], [200, 2_000])
      assert.equal((await desk.upload(path, {})).status, 422)
    },
  },
  {
    name: 'the workspace and the carrier sessions are read',
    rows: ['endpoint.getWorkspace', 'endpoint.getQuoteSessions'],
    run: async (desk) => {
      const at = `/broker/submissions/${await desk.create('Harrow Roofing LLC')}`
      desk.pass(360)
      const { applications } = (await desk.get(`${at}/application-workspace`)).body
      assert.ok(applications.length > 0)
      assert.equal((await desk.get(`${at}/api-quotes/sessions`)).status, 200)
    },
  },
]

export const submissionCases: readonly Case[] = [...creating, ...conversing]
