import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { compareWithTruth, type Difference, truthSchema } from '../../src/demo/compare.ts'
import { documentKeyOf } from '../../src/model/documents.ts'
import { entities } from '../../src/model/entities.ts'
import type { Json } from '../../src/model/json.ts'
import { detailReads } from '../../src/model/reads.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { applyAll } from '../tools/mirror.ts'
import {
  at,
  byPoll,
  detailFact,
  idFacts,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
  uuid,
  wireById,
  wireDetails,
  wireEvent,
  wireLane,
  wireMessage,
  wireReadiness,
  wireRequirements,
} from '../tools/observations.ts'

const ACCOUNT = 'default'
const submission = uuid(9, 1)
const quote = { quote_id: uuid(7, 1), premium_display: '$1,200', total_cents: 120_000, lines: ['general_liability'], is_revision: false }
const offer = { presentation_id: 'p1', kind: 'quote', label: 'Quote', document_url: '/documents/1', filename: 'quote.pdf' }
const history = { history_key: 'old:1', market_name: 'Market 2', program: 'Main program', outcome: 'expired', observed_at: at(1) }
const view = wireRequirements(submission, [wireLane(1, { quotes: [quote], source_offers: [offer] })], wireReadiness(submission), {
  quote_history: [history],
})

const { bind_request, policy } = wireById(submission)
const binds = { bind_requests: [bind_request], policies: [policy] }

function truthOf(events: Json[], messages: Json[], requirements: Json = view) {
  return truthSchema.parse({
    account: ACCOUNT,
    submissions: [{ submission_id: submission, events, messages, requirements, ...wireDetails(submission), ...binds }],
  })
}

describe.each(testDatabases)('the comparison with the truth on $name', (database) => {
  let opened: OpenedDatabase
  beforeEach(async () => {
    opened = await database.open()
    await applyAll(opened.db, [
      trackFact(ACCOUNT, submission),
      observedEvent(ACCOUNT, submission, wireEvent(1), byPoll),
      observedMessage(ACCOUNT, submission, wireMessage(1), byPoll),
      observedState(ACCOUNT, submission, view, 1),
      ...detailReads.map((read) => detailFact(ACCOUNT, submission, read, wireDetails(submission)[read], 1)),
      ...idFacts(ACCOUNT, submission),
    ])
  })
  afterEach(() => opened.close())

  async function differences(truth: ReturnType<typeof truthOf>): Promise<Omit<Difference, 'submissionId'>[]> {
    const compared = await compareWithTruth(opened.db.read, ACCOUNT, truth)
    return compared.flatMap((each) => each.differences).map(({ submissionId: _, ...rest }) => rest)
  }

  it('finds nothing when the mirror has every row', async () => {
    const compared = await compareWithTruth(opened.db.read, ACCOUNT, truthOf([wireEvent(1)], [wireMessage(1)]))
    expect(compared.map(({ table }) => table)).toEqual(entities.map(({ table }) => table))
    expect(compared.filter(({ shown }) => shown === 0)).toEqual([])
    expect(compared.flatMap(({ differences: found }) => found)).toEqual([])
  })

  it('finds missing, surplus and different rows', async () => {
    expect(await differences(truthOf([wireEvent(1), wireEvent(2)], []))).toEqual([
      { table: 'market_events', key: uuid(1, 2), what: 'missing' },
      { table: 'thread_messages', key: uuid(2, 1), what: 'surplus' },
      { table: 'thread_attachments', key: `${uuid(2, 1)} 0`, what: 'surplus' },
      { table: 'documents', key: uuid(4, 1), what: 'surplus' },
    ])
    const changed = wireRequirements(submission, [wireLane(1, { status: 'quoted', quotes: [{ ...quote, total_cents: 1 }] })], {
      ...wireReadiness(submission),
      state: 'CA',
      carrier_api_sessions: [],
      assessment: null,
    })
    expect(await differences(truthOf([wireEvent(1, { detail: 'more' })], [wireMessage(1)], changed))).toEqual([
      { table: 'submissions', key: '', what: ['state'] },
      { table: 'market_events', key: uuid(1, 1), what: ['detail'] },
      { table: 'lanes', key: uuid(3, 1), what: ['status'] },
      { table: 'quotes', key: `${uuid(3, 1)} ${uuid(7, 1)}`, what: ['total_cents'] },
      { table: 'source_offers', key: `${uuid(3, 1)} p1`, what: 'surplus' },
      { table: 'quote_history', key: 'old:1', what: 'surplus' },
      { table: 'carrier_api_sessions', key: uuid(11, 1), what: 'surplus' },
      { table: 'documents', key: documentKeyOf(offer.document_url, offer.presentation_id), what: 'surplus' },
    ])
  })

  it('ignores the order of facts from several sources', async () => {
    const { workspace, ...others } = wireDetails(submission)
    const [fact] = workspace.facts.facts
    const older = { ...fact, value: 11, source: { ...fact?.source, source_id: 'r' } }
    const facts = { ...workspace.facts, facts: [fact, older] }
    await applyAll(opened.db, [detailFact(ACCOUNT, submission, 'workspace', { ...workspace, facts }, 2)])
    const [truth] = truthOf([wireEvent(1)], [wireMessage(1)]).submissions
    const shown = { ...truth, ...others, workspace: { ...workspace, facts: { ...facts, facts: [older, fact] } } }
    expect(await differences(truthSchema.parse({ account: ACCOUNT, submissions: [shown] }))).toEqual([])
  })

  it('ignores a view without a rail', async () => {
    expect(
      await differences(
        truthOf([wireEvent(1)], [wireMessage(1)], wireRequirements(submission, null, { ...wireReadiness(submission), assessment: null })),
      ),
    ).toEqual([])
  })
})
