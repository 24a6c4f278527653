import { describe, expect, it, onTestFinished } from 'vitest'
import { applicationAnswers } from '../../src/model/entities/application-answers.ts'
import { applicationWorkspaces } from '../../src/model/entities/application-workspaces.ts'
import { applications } from '../../src/model/entities/applications.ts'
import { carrierApiSessions } from '../../src/model/entities/carrier-api-sessions.ts'
import { facts } from '../../src/model/entities/facts.ts'
import { outstandingItems } from '../../src/model/entities/outstanding-items.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import type { Json } from '../../src/model/json.ts'
import type { DetailRead } from '../../src/model/reads.ts'
import { testDatabases } from '../tools/databases.ts'
import { detailFact, stateFact, uuid, wireDetails, wireReadiness, wireRequirements } from '../tools/facts.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

const isThere = ({ gone_at }: Record<string, unknown>) => gone_at === null

describe.each(testDatabases)('the reads beside the requirements view, on $name', (database) => {
  let readNo = 0
  async function mirror() {
    const { db, close } = await database.open()
    onTestFinished(close)
    const made = async (fact: Parameters<typeof applyAll>[1][number]) => {
      const last = (await changesOf(db)).length
      await applyAll(db, [fact])
      return (await changesOf(db)).slice(last).map(({ entity, operation }) => `${entity} ${operation}`)
    }
    const show = (read: DetailRead, over: Record<string, Json> = {}) => {
      readNo += 1
      return made(detailFact(ACCOUNT, ID, read, { ...wireDetails(ID)[read], ...over }, readNo))
    }
    const list = (wire: unknown) => {
      readNo += 1
      return made(detailFact(ACCOUNT, ID, 'sessions', wire, readNo))
    }
    const view = (over: Record<string, Json> = {}) => {
      readNo += 1
      return made(stateFact(ACCOUNT, ID, wireRequirements(ID, [], { ...wireReadiness(ID), ...over }), readNo))
    }
    return { db, show, list, view }
  }

  it('trap 68: an outstanding item that is answered is gone, and the next reading writes nothing', async () => {
    const { db, show } = await mirror()
    await show('outstanding')
    expect(await rowsOf(db, outstandingItems)).toMatchObject([{ item_key: 'years', markets: ['Market 1'], gone_at: null }])
    expect(await rowsOf(db, submissions)).toMatchObject([{ outstanding_answerable_count: 1, outstanding_markets_total: 2, raw: null }])
    expect(await show('outstanding')).toEqual([])
    expect(await show('outstanding', { items: [], answerable_count: 0 })).toEqual(['submissions update', 'outstanding_items gone'])
    expect(await show('outstanding')).toEqual(['submissions update', 'outstanding_items update'])
  })

  it('trap 61, trap 67: vocabularies are open, words may be objects, and items without a key are rows of their own', async () => {
    const { db, show } = await mirror()
    const items = [
      { key: 'k', input: 'hologram', source: 'oracle', how_to_provide: { path: '/x' } },
      { label: 'No key' },
      { label: 'No key' },
    ]
    await show('outstanding', { items })
    const rows = await rowsOf(db, outstandingItems)
    expect(rows).toHaveLength(3)
    expect(rows).toContainEqual(expect.objectContaining({ input: 'hologram', source: 'oracle', how_to_provide: '{"path":"/x"}' }))
    await show('workspace', { applications: [{ application_id: 'a', readiness: 'levitating', mapping_state: { map: 1 } }] })
    expect(await rowsOf(db, applications)).toMatchObject([{ application_id: 'a', readiness: 'levitating', mapping_state: '{"map":1}' }])
  })

  it('keeps a workspace with its applications, answers and facts', async () => {
    const { db, show } = await mirror()
    await show('workspace')
    expect(await rowsOf(db, applicationWorkspaces)).toMatchObject([
      { workspace_id: uuid(12, 1), fact_set_id: uuid(13, 1), facts_revision: 7 },
    ])
    expect(await rowsOf(db, applications)).toMatchObject([
      { application_id: uuid(11, 1), answer_revision: 1, missing: ['payroll'], result: { outcome: 'quoted' } },
    ])
    expect(await rowsOf(db, applicationAnswers)).toMatchObject([
      { question_key: 'years', value: 12, ownership_kind: 'derived', ownership_revision: 3, source_channel: 'document' },
    ])
    expect(await rowsOf(db, facts)).toMatchObject([{ key: 'years', scope: 'insured', period: '2025', value: 12, confirmed: true }])
    expect(await show('workspace')).toEqual([])
  })

  it('trap 70: of an answer and of a fact any value is kept, false and 0 apart from none', async () => {
    const { db, show } = await mirror()
    const [application] = wireDetails(ID).workspace.applications
    const answers = { no: false, zero: 0, empty: '', none: null, list: [1, { a: null }] }
    await show('workspace', {
      applications: [{ ...application, answers, ownership: { cleared: { kind: 'cleared', revision: 1 } } } as Json],
      facts: {
        fact_set_id: 's',
        facts: [
          { key: 'a', value: false },
          { key: 'a', value: 0, period: '2024' },
        ],
      },
    })
    const values = Object.fromEntries((await rowsOf(db, applicationAnswers)).map(({ question_key, value }) => [question_key, value]))
    expect(values).toEqual({ ...answers, cleared: null })
    expect((await rowsOf(db, facts)).map(({ period, scope, value }) => [period, scope, value]).sort()).toEqual([
      ['', 'insured', false],
      ['2024', 'insured', 0],
    ])
    await show('workspace', { applications: [{ ...application, answers: {}, ownership: {} } as Json] })
    expect((await rowsOf(db, applicationAnswers)).filter(isThere)).toEqual([])
  })

  it('trap 47: null is no empty list, and what is absent is null', async () => {
    const { db, show } = await mirror()
    const [application] = wireDetails(ID).workspace.applications
    const { allowed_actions: _, ...without } = application as Record<string, Json>
    const lists = { selected_products: null, available_products: [], missing: null, visible_fields: [] }
    await show('workspace', { applications: [{ ...without, ...lists } as Json], residual_pdf: { status: 'none', form_keys: null } })
    expect(await rowsOf(db, applications)).toMatchObject([{ ...lists, allowed_actions: null }])
    expect(await rowsOf(db, applicationWorkspaces)).toMatchObject([{ residual_form_keys: null }])
    const changed = {
      applications: [{ ...without, ...lists, selected_products: [] } as Json],
      residual_pdf: { status: 'none', form_keys: [] },
    }
    expect((await show('workspace', changed)).sort()).toEqual(['application_workspaces update', 'applications update'])
    expect(await rowsOf(db, applications)).toMatchObject([{ selected_products: [] }])
    await show('outstanding', { items: [{ key: 'k', options: [], markets: null }] })
    expect(await rowsOf(db, outstandingItems)).toMatchObject([{ options: [], markets: null }])
  })

  it('trap 75: no tax id of a fact, an answer or an item is stored, in columns or in raw', async () => {
    const { db, show } = await mirror()
    const [application] = wireDetails(ID).workspace.applications
    const ids = ['12-3456789', '123-45-6789', '98-7654321', '321-54-9876']
    await show('workspace', {
      applications: [{ ...application, answers: { fein_or_ssn: ids[0] ?? '', owner: { ssn: ids[1] ?? '' } }, ownership: {} } as Json],
      facts: { fact_set_id: 's', facts: [{ key: 'applicant.fein', value: ids[2] ?? '' }] },
    })
    await show('outstanding', { items: [{ key: 'k', options: [{ tax_id: ids[3] ?? '', label: 'L' }] }] })
    const stored: unknown[] = [await changesOf(db)]
    for (const entity of [applicationWorkspaces, applications, applicationAnswers, facts, outstandingItems, submissions])
      stored.push(await rowsOf(db, entity))
    expect(ids.filter((id) => JSON.stringify(stored).includes(id))).toEqual([])
    expect((await rowsOf(db, facts)).map(({ value }) => value)).toEqual(['[protected]'])
    expect((await rowsOf(db, outstandingItems)).map(({ options }) => options)).toEqual([[{ tax_id: '[protected]', label: 'L' }]])
  })

  it('trap 64: a workspace that turned legacy, and lists that are missing, mark nothing as gone', async () => {
    const { db, show } = await mirror()
    await show('workspace')
    await show('workspace', { workflow_version: 'legacy', applications: [] })
    await show('workspace', { applications: null, facts: null, residual_pdf: null })
    for (const entity of [applications, applicationAnswers, facts, applicationWorkspaces]) {
      expect((await rowsOf(db, entity)).map(isThere)).toEqual([true])
    }
    expect(await show('workspace', { applications: [] })).toContain('applications gone')
    expect((await rowsOf(db, applicationAnswers)).map(isThere)).toEqual([false])
  })

  it('trap 57: sessions come as a list, or in an object whose only list of objects they are', async () => {
    const { db, list } = await mirror()
    const [one] = wireDetails(ID).sessions
    await list({ items: [one], tags: ['a'], total: 1 })
    expect(await rowsOf(db, carrierApiSessions)).toMatchObject([
      { missing_required_questions: [{ key: 'years' }], status: null, raw: null },
    ])
    expect(await list([{ ...one, missing_required_questions_json: 'not json' }])).toEqual(['carrier_api_sessions update'])
    expect(await rowsOf(db, carrierApiSessions)).toMatchObject([{ missing_required_questions: 'not json' }])
    expect(() => detailFact(ACCOUNT, ID, 'sessions', { a: [{}], b: [{}] }, 1)).toThrow()
  })

  it('of a session the requirements view decides whether it is there, whichever read comes first', async () => {
    const { sessions } = wireDetails(ID)
    const left = []
    for (const viewFirst of [true, false]) {
      const { db, list, view } = await mirror()
      const other = { session_id: 'only there', missing_required_questions_json: '[]' }
      const steps = [() => view(), () => list([...sessions, other])]
      for (const step of viewFirst ? steps : [...steps].reverse()) await step()
      left.push((await rowsOf(db, carrierApiSessions)).map(({ raw: _, ...row }) => row))
      expect(await view({ carrier_api_sessions: [] })).toEqual(['carrier_api_sessions gone'])
      expect(await list([...sessions, other])).toEqual([])
      expect(await view()).toEqual(['carrier_api_sessions update'])
      expect(await list(sessions)).toEqual(['carrier_api_sessions gone'])
      expect(await list([])).toEqual(['carrier_api_sessions update'])
      expect((await rowsOf(db, carrierApiSessions)).filter(isThere)).toMatchObject([
        { missing_required_questions: null, carrier_slug: 'acme' },
      ])
    }
    expect(left[0]).toEqual(left[1])
  })
})
