import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { applicationAnswers } from '../../src/model/entities/application-answers.ts'
import { applicationWorkspaces } from '../../src/model/entities/application-workspaces.ts'
import { applications } from '../../src/model/entities/applications.ts'
import { carrierApiSessions } from '../../src/model/entities/carrier-api-sessions.ts'
import { facts } from '../../src/model/entities/facts.ts'
import { outstandingItems } from '../../src/model/entities/outstanding-items.ts'
import { requirementItems } from '../../src/model/entities/requirement-items.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import type { Json } from '../../src/model/json.ts'
import type { DetailRead } from '../../src/model/reads.ts'
import { readSessions } from '../../src/upstream/wire/sessions.ts'
import { readWorkspace } from '../../src/upstream/wire/workspace.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import { detailFact, observedState, uuid, wireDetails, wireReadiness, wireRequirements } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

const sha = (...fields: Json[]) => hash('sha256', JSON.stringify(fields), 'hex')
const isThere = ({ gone_at }: Record<string, unknown>) => gone_at === null

describe.each(testDatabases)('the reads in addition to the requirements view, on $name', (database) => {
  let readNo = 0
  async function mirror() {
    const { db } = await closedAtEnd(database.open())
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
      return made(observedState(ACCOUNT, ID, wireRequirements(ID, [], { ...wireReadiness(ID), ...over }), readNo))
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

  it('trap 61, trap 67: vocabularies are open, words may be objects, and items without a key are separate rows', async () => {
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
      [null, 'insured', false],
      ['2024', 'insured', 0],
    ])
    await show('workspace', { applications: [{ ...application, answers: {}, ownership: {} } as Json] })
    expect((await rowsOf(db, applicationAnswers)).filter(isThere)).toEqual([])
  })

  it('trap 64: an application that does not speak of its answers, and a program of its requirements, lose none', async () => {
    const { db, show, view } = await mirror()
    await show('workspace')
    const [application] = wireDetails(ID).workspace.applications
    await show('workspace', { applications: [{ ...application, answers: null } as Json] })
    expect((await rowsOf(db, applicationAnswers)).map(isThere)).toEqual([true])
    await view()
    const known = (await rowsOf(db, requirementItems)).filter(isThere).length
    expect(known).toBeGreaterThan(0)
    const assessment = wireReadiness(ID)['assessment'] as { readonly programs: readonly Record<string, Json>[] }
    const programs = assessment.programs.map((program) => ({ ...program, met: null, unmet: null, deferred: null }))
    await view({ assessment: { ...assessment, programs } })
    expect((await rowsOf(db, requirementItems)).filter(isThere)).toHaveLength(known)
  })

  it('trap 67: facts that differ only in their source are separate rows, in any order', async () => {
    const { db, show } = await mirror()
    const from = (value: Json, source: Json, over: Record<string, Json> = {}): Json => ({ key: 'years', value, source, ...over })
    const byBroker = from(12, { source_id: 'a', content_hash: 'x', channel: 'broker_portal' })
    const byDocument = from(11, { source_id: 'b', content_hash: 'x', channel: 'document' })
    const byNewerDocument = from(10, { source_id: 'b', content_hash: 'y', channel: 'document' })
    const ofThen = from(9, { source_id: 'a', content_hash: 'x', channel: 'document' }, { period: '2024' })
    const factsOf = (...list: Json[]) => ({ facts: { fact_set_id: 's', facts: list } })
    const stored = async () => (await rowsOf(db, facts)).filter(isThere).map(({ fact_key, value }) => [fact_key, value])
    await show('workspace', factsOf(byNewerDocument, byDocument, ofThen, byBroker))
    const [years, then] = [sha('s', 'years', 'insured', null), sha('s', 'years', 'insured', '2024')]
    const all = [
      [years, 12],
      [`${years}#2`, 11],
      [`${years}#3`, 10],
      [then, 9],
    ].sort()
    expect((await stored()).sort()).toEqual(all)
    expect(await show('workspace', factsOf(byBroker, ofThen, byNewerDocument, byDocument))).toEqual([])
    expect((await stored()).sort()).toEqual(all)
    expect((await show('workspace', factsOf(byDocument, ofThen, byBroker))).sort()).toEqual(['facts gone'])
    // The key is the fact's, not its source's.
    await show('workspace', factsOf(byDocument, ofThen))
    expect((await stored()).sort()).toEqual(
      [
        [years, 11],
        [then, 9],
      ].sort(),
    )
  })

  it('trap 67: of facts that do not even differ in their source the order is that of their content', async () => {
    const { db, show } = await mirror()
    const [one, two] = [1, 2].map((value): Json => ({ key: 'k', value }))
    await show('workspace', { facts: { facts: [two ?? null, one ?? null] } })
    const stored = (await rowsOf(db, facts)).map(({ fact_key, fact_set_id, value }) => [fact_key, fact_set_id, value])
    const key = sha(null, 'k', 'insured', null)
    expect(stored.sort()).toEqual(
      [
        [key, null, 1],
        [`${key}#2`, null, 2],
      ].sort(),
    )
    expect(await show('workspace', { facts: { facts: [one ?? null, two ?? null] } })).toEqual([])
  })

  it('trap 57: other fields next to the items of the outstanding requirements are kept, and are no change', async () => {
    const { db, show, view } = await mirror()
    const kept = async () =>
      (await rowsOf(db, submissions)).map(({ form_fill_active, outstanding_raw }) => [form_fill_active, outstanding_raw])
    await view({ form_fill_active: false })
    expect(await kept()).toEqual([[false, null]])
    const later = { form_fill_active: true, asked_by: { name: 'Ann' }, exact: 1 }
    await show('outstanding', later)
    const { items: _, ...beside } = { ...wireDetails(ID).outstanding, ...later }
    // The requirements view is the authority for the column.
    expect(await kept()).toEqual([[false, JSON.stringify(beside)]])
    expect(await show('outstanding', { ...later, asked_by: null })).toEqual([])
    expect(await kept()).toEqual([[false, JSON.stringify({ ...beside, asked_by: null })]])
    await show('outstanding', { ...later, items: null })
    expect(await kept()).toEqual([[false, JSON.stringify({ ...wireDetails(ID).outstanding, ...later, items: null })]])
    await show('outstanding', { ...later, generated_at: '2026-01-05T09:00:00Z' })
    const [before] = await kept()
    await show('outstanding', { ...later, generated_at: '2026-01-05T10:00:00Z' })
    expect(await kept()).toEqual([before])
  })

  const session = { session_id: uuid(11, 9), missing_required_questions_json: '[]' }
  const { session_id, ...unnamed } = session
  it.each([
    ['a bare list', [session]],
    ['a list whose items have their id under another name', [{ ...unnamed, id: session_id }]],
    ['a list next to another list of objects', { carriers: [{ slug: 'a' }], sessions: [session] }],
    ['the only list of objects, under any name', { of_carriers: [session], tags: ['a'] }],
  ])('the sessions are %s', async (_, wire) => {
    const { db, list } = await mirror()
    await list(wire)
    expect((await rowsOf(db, carrierApiSessions)).map((row) => row['session_id'])).toEqual([session_id])
  })

  it('an unreadable answer of the sessions read is kept, and does not change the stored sessions', async () => {
    const { db, list } = await mirror()
    await list([session])
    const odd = { left: [{ a: 1 }], right: [{ b: 2 }] }
    expect(readSessions(odd)?.unreadable).toEqual([JSON.stringify(odd)])
    expect(await list(odd)).toEqual([])
    expect((await rowsOf(db, submissions)).map(({ sessions_raw }) => sessions_raw)).toEqual([JSON.stringify(odd)])
    expect(await rowsOf(db, carrierApiSessions)).toMatchObject([{ session_id, gone_at: null }])
    expect(readSessions('busy')).toBe(null)
  })

  it.each([{ workspace_id: null }, {}])('a legacy workspace is read without its id: %j', async (over) => {
    const { workspace_id: _, ...legacy } = { ...wireDetails(ID).workspace, workflow_version: 'legacy', applications: [] }
    const { db } = await mirror()
    await applyAll(db, [detailFact(ACCOUNT, ID, 'workspace', { ...legacy, ...over }, 1)])
    expect(await rowsOf(db, applicationWorkspaces)).toMatchObject([{ workspace_id: null, workflow_version: 'legacy' }])
    expect(readWorkspace({ busy: true })).toBe(null)
  })

  it('trap 57: other fields next to the list of sessions are kept; a bare list has none', async () => {
    const { db, list } = await mirror()
    const { sessions } = wireDetails(ID)
    const kept = async () => (await rowsOf(db, submissions)).map(({ sessions_raw }) => sessions_raw)
    await list(sessions)
    expect(await kept()).toEqual([null])
    expect(await list({ items: sessions, tags: ['a'], total: 1 })).toEqual([])
    expect(await kept()).toEqual(['{"tags":["a"],"total":1}'])
    expect(await list({ sessions })).toEqual([])
    expect(await kept()).toEqual(['{}'])
    expect(await list(sessions)).toEqual([])
    expect(await kept()).toEqual([null])
  })

  it('trap 75: no tax id next to a list is stored', async () => {
    const { db, show, list } = await mirror()
    const ids = ['12-3456789', '123-45-6789']
    await show('outstanding', { applicant: { fein: ids[0] ?? '' } })
    await list({ sessions: [], owner: { key: 'ssn', value: ids[1] ?? '' } })
    const [row] = await rowsOf(db, submissions)
    expect(ids.filter((id) => JSON.stringify(row).includes(id))).toEqual([])
    expect([row?.['outstanding_raw'], row?.['sessions_raw']].map((raw) => String(raw).includes('[protected]'))).toEqual([true, true])
  })

  it('trap 47: null is not an empty list, and a missing field is null', async () => {
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

  it('trap 57: sessions come as a list, or as the only list of objects in an object', async () => {
    const { db, list } = await mirror()
    const [one] = wireDetails(ID).sessions
    await list({ items: [one], tags: ['a'], total: 1 })
    expect(await rowsOf(db, carrierApiSessions)).toMatchObject([
      { missing_required_questions: [{ key: 'years' }], status: null, raw: null },
    ])
    expect(await list([{ ...one, missing_required_questions_json: 'not json' }])).toEqual(['carrier_api_sessions update'])
    expect(await rowsOf(db, carrierApiSessions)).toMatchObject([{ missing_required_questions: 'not json' }])
  })

  it('the requirements view decides whether a session exists, in any order of the reads', async () => {
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
