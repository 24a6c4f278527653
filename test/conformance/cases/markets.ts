import assert from 'node:assert/strict'
import { Forbidden, NotFound, RateLimited, ServiceError, ValidationError } from '../../../src/client/exports.ts'
import { programs } from '../../../src/sandbox/world/catalogue.ts'
import { APPETITE_LIMIT, type Case, type Desk, NOBODYS, pdfOf, refused } from '../desk.ts'
import { admin } from './authentication.ts'

const DAY_S = 86_400

/** @returns a draft on a lane of a program with or without card payment in the portal. */
async function draftOn(desk: Desk, collectsCard: boolean) {
  const id = await desk.create(collectsCard ? 'Harrow Roofing LLC' : 'Cedar Hollow LLC', {
    lines_of_business: ['gl', 'wc', 'auto', 'property'],
  })
  desk.pass(360)
  const { rail } = await desk.client.submissions.requirements(id)
  const ofKind = programs.filter((program) => (program.collectsCard ?? false) === collectsCard).map(({ marketId }) => marketId)
  const lane = rail?.lanes?.find(({ market_id }) => ofKind.includes(market_id ?? ''))
  const quote = await desk.admin('/quotes', { submission_id: id, lane_id: lane?.submission_market_id, firm: true })
  return { id, draft: await desk.client.bind.create(id, { quote_id: quote.body.quote_id, attest_assumptions: true }) }
}

export const marketCases: readonly Case[] = [
  {
    name: 'forms are searched by key or title, 50 at most',
    rows: ['endpoint.searchForms', 'limit.forms'],
    run: async ({ client }) => {
      assert.equal((await client.forms()).length, 50)
      const found = await client.forms('ACORD 125')
      assert.deepEqual(await client.forms('acord 125'), found)
      assert.deepEqual(
        found.map(({ is_acord, page_count }) => [is_acord, typeof page_count]),
        [[true, 'number']],
      )
    },
  },
  {
    name: "a session's filled forms become finalized documents",
    rows: ['endpoint.openFormFillSession'],
    run: async (desk) => {
      const { submissions } = desk.client
      const id = await desk.create('Harrow Roofing LLC', { hold: true })
      const { forms = [] } = await submissions.requirements(id)
      const session = await submissions.formFill(id, { form_keys: [] })
      assert.ok(session.session_id && session.token)
      const assigned = Array.isArray(session.forms_assigned) ? session.forms_assigned.length : Number(session.forms_assigned)
      assert.ok(assigned > 0 && assigned <= forms.length)
      assert.equal((await submissions.requirements(id)).form_fill_active, true)
      desk.pass(600)
      assert.equal((await submissions.requirements(id)).form_fill_active, false)
      const { messages } = await submissions.thread(id)
      const [path = ''] = messages.flatMap(({ attachments = [] }) => attachments.map(({ download_path }) => download_path ?? ''))
      const { stream } = await desk.client.download(path)
      assert.equal((await new Response(stream).text()).slice(0, 5), '%PDF-')
    },
  },
  {
    name: 'appetite is read and searched until the daily limit that both share',
    rows: ['endpoint.getAppetite', 'endpoint.searchAppetite', 'error.daily_limit'],
    run: async (desk) => {
      const { appetite } = desk.client
      const { query, results = [] } = await appetite.read({ q: 'roofing', state: 'TX' })
      assert.equal(query, 'roofing')
      assert.ok(results.length > 0)
      for (let asked = 1; asked < APPETITE_LIMIT; asked++) await appetite.search({ query: 'roofing', lines: ['gl'] })
      await refused(appetite.search({ query: 'roofing' }), 429, RateLimited)
      await refused(appetite.read({ q: 'roofing' }), 429, RateLimited)
      desk.pass(DAY_S)
      await desk.as('own').appetite.read({ q: 'roofing' })
    },
  },
  {
    name: "an admin turns a program's line off, which is then not matched",
    rows: ['endpoint.setProgramLine', 'error.market_access', 'authentication.admin'],
    run: async (desk) => {
      const [program] = programs.filter(({ lines }) => lines.includes('general_liability'))
      const { programId = '' } = program ?? {}
      const off = { program_id: programId, lob_slug: 'general_liability', enabled: false }
      await refused(desk.client.marketAccess.setProgramLine(off), 403, Forbidden)
      await refused((await desk.inPortal(desk.producer)).marketAccess.setProgramLine(off), 403, Forbidden)
      const { marketAccess } = await desk.inPortal(await admin(desk))
      await refused(marketAccess.setProgramLine({ ...off, lob_slug: 'aviation' }), 422, ServiceError)
      await refused(marketAccess.setProgramLine({ ...off, program_id: NOBODYS }), 404, NotFound)
      assert.ok(await marketAccess.setProgramLine(off))
      const id = await desk.create('Harrow Roofing LLC')
      desk.pass(300)
      const { rail } = await desk.client.submissions.requirements(id)
      assert.ok(rail?.lanes?.length)
      assert.equal(
        rail.lanes.some(({ program_id }) => program_id === programId),
        false,
      )
    },
  },
  {
    name: 'a bind is submitted by the API unless its carrier collects card payment in the portal',
    rows: ['error.card_payment'],
    run: async (desk) => {
      // The spec doesn't define the path.
      const submit = (id: string, bindId: string) =>
        desk.client.request('POST', `/broker/submissions/${id}/bind-requests/${bindId}/submit`, { body: { producer_email: desk.producer } })
      const card = await draftOn(desk, true)
      const reason = await refused(submit(card.id, card.draft.bind_request_id), 422, ValidationError)
      assert.match(JSON.stringify(reason.detail), /card payment/)
      assert.equal((await desk.client.bind.get(card.id, card.draft.bind_request_id)).status, 'drafted')
      const other = await draftOn(desk, false)
      await refused(submit(other.id, other.draft.bind_request_id), 409)
      for (const { id } of other.draft.contingencies)
        await desk.client.bind.upload(other.id, other.draft.bind_request_id, id ?? '', { file: pdfOf(100) })
      await submit(other.id, other.draft.bind_request_id)
      assert.deepEqual((await desk.client.bind.get(other.id, other.draft.bind_request_id)).next_steps, [])
    },
  },
]
