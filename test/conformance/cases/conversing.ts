import assert from 'node:assert/strict'
import { ServiceError, ValidationError } from '../../../src/client/exports.ts'
import { type Case, NOBODYS, pdfOf, refused } from '../desk.ts'

/** A feed of 230 items: pages of 50 by default, clamped to `max`. */
function feed(name: 'events' | 'thread', rows: readonly string[], max: number): Case {
  return {
    name: `${name} come in pages of 50, clamped to 1 to ${max}, until the cursor is null`,
    rows: [...rows, 'error.cursor'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC', { hold: true })
      desk.sandbox.fillFeeds('default', id, { events: 230, messages: 230 })
      const { submissions } = desk.client
      const page = async (options: { since?: string; limit?: number }) => {
        if (name === 'events') return (await submissions.events(id, options)).events
        return (await submissions.thread(id, options)).messages
      }
      assert.deepEqual([(await page({})).length, (await page({ limit: 0 })).length, (await page({ limit: 1_000 })).length], [50, 1, max])
      const seen = new Set<string>()
      const all = name === 'events' ? submissions.allEvents(id) : submissions.allMessages(id)
      for await (const { id: item } of all) seen.add(item)
      assert.equal(seen.size, 230)
      await refused(page({ since: 'nonsense' }), 400)
    },
  }
}

export const conversingCases: readonly Case[] = [
  feed('events', ['endpoint.getEvents', 'limit.events'], 100),
  feed('thread', ['endpoint.getThread', 'limit.thread'], 200),
  {
    name: 'a reply is recorded once for each key, and answered within minutes',
    rows: ['endpoint.postThread', 'limit.idempotency_key', 'error.blank_body', 'error.foreign_document', 'limit.answer'],
    run: async (desk) => {
      const { submissions } = desk.client
      const id = await desk.create('Harrow Roofing LLC', { hold: true })
      const post = (body: string, idempotencyKey = 'k'.repeat(128), document_ids: string[] = []) =>
        submissions.post(id, { body, document_ids }, { idempotencyKey })
      const first = await post('Payroll is $400k.')
      assert.equal(first.status, 'received')
      assert.deepEqual(await post('Payroll is $400k.'), first)
      await refused(desk.client.request('POST', `/broker/submissions/${id}/thread`, { body: { body: ' \n' } }), 422)
      await refused(post('x', 'foreign', [NOBODYS]), 400, ServiceError)
      const directions = async () => (await submissions.thread(id)).messages.map(({ direction }) => direction)
      assert.deepEqual(await directions(), ['inbound'])
      desk.pass(180)
      assert.deepEqual(await directions(), ['inbound', 'outbound'])
    },
  },
  {
    name: 'outstanding items are answered; other keys are skipped',
    rows: ['endpoint.getOutstanding', 'endpoint.postAnswers'],
    run: async (desk) => {
      const { submissions } = desk.client
      const id = await desk.create('Harrow Roofing LLC')
      desk.pass(360)
      const { items = [] } = await submissions.outstanding(id)
      const key = items.find(({ input }) => input === 'number')?.key
      assert.ok(key)
      const { applied, skipped = [] } = await submissions.answer(id, [
        { key, value: 5 },
        { key: 'never_asked', value: 1 },
      ])
      assert.deepEqual([applied, skipped.map((one) => one.key)], [[key], ['never_asked']])
      assert.equal(
        (await submissions.outstanding(id)).items?.some((item) => item.key === key),
        false,
      )
    },
  },
  {
    name: 'a document is attached and opens; one without a file is refused with a list of problems',
    rows: ['endpoint.uploadDocument', 'endpoint.getPdf', 'error.validation'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC', { hold: true })
      const document = await desk.client.submissions.upload(id, { file: pdfOf(2_000), displayName: 'Loss runs' })
      assert.deepEqual([document.display_name, document.size_bytes], ['Loss runs', 2_000])
      for (const opened of [await desk.client.documents.pdf(document.id ?? ''), await desk.client.download(document.download_path ?? '')]) {
        assert.equal(opened.contentType, 'application/pdf')
        assert.equal((await new Response(opened.stream).arrayBuffer()).byteLength, 2_000)
      }
      const empty = await refused(desk.client.submissions.upload(id, { file: pdfOf(0) }), 422, ValidationError)
      assert.ok(empty.problems.length > 0)
    },
  },
  {
    name: 'an unavailable PDF is an error, and is available later',
    rows: ['error.pdf'],
    run: async (desk) => {
      const id = await desk.create('Harrow Roofing LLC', { hold: true })
      const { id: documentId = '' } = await desk.client.submissions.upload(id, { file: pdfOf(2_000) })
      desk.sandbox.faults.add({ kind: 'pdf_unavailable', count: 1 })
      await refused(desk.client.documents.pdf(documentId), 502)
      await (await desk.client.documents.pdf(documentId)).stream.cancel()
    },
  },
]
