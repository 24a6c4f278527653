import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { compareObservations } from '../../src/apply/compare.ts'
import { isUnchanged } from '../../src/apply/unchanged.ts'
import { bindAssumptions } from '../../src/model/entities/bind-assumptions.ts'
import { bindContingencies } from '../../src/model/entities/bind-contingencies.ts'
import { bindRequests } from '../../src/model/entities/bind-requests.ts'
import { documents } from '../../src/model/entities/documents.ts'
import { insureds } from '../../src/model/entities/insureds.ts'
import { policies } from '../../src/model/entities/policies.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import type { Row } from '../../src/model/entity.ts'
import type { Json } from '../../src/model/json.ts'
import { knownIdsIn } from '../../src/model/known-ids.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { MirrorReader } from '../../src/store/mirror/reader.ts'
import { listIdsOf } from '../../src/store/reads/known-ids.ts'
import type { Columns } from '../../src/store/schema/tables.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import {
  detailFact,
  idFact,
  observedEvent,
  observedMessage,
  uuid,
  wireById,
  wireDetails,
  wireEvent,
  wireMessage,
} from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const [ID, OTHER] = [uuid(9, 1), uuid(9, 2)]

it('trap 21: ids are found at any depth, under their keys only, each for the submission that encloses it', () => {
  const answer = {
    list: [
      { submission_id: OTHER, deep: [{ policy_id: uuid(15, 1).toUpperCase(), policy: uuid(15, 2) }] },
      { submission_id: OTHER, insured_id: uuid(16, 1) },
    ],
    policy_id: 'none',
    insured: { insured_id: uuid(16, 1) },
    attachments: [{ download_path: `/broker/finalized-documents/${uuid(4, 1)}/pdf` }, { document_id: uuid(4, 2) }],
  }
  expect(knownIdsIn(answer, ID)).toEqual([
    { kind: 'policy', id: uuid(15, 1), submissionId: OTHER },
    { kind: 'insured', id: uuid(16, 1), submissionId: OTHER, isStated: true },
    { kind: 'document', id: uuid(4, 1), submissionId: ID },
    { kind: 'document', id: uuid(4, 2), submissionId: ID },
  ])
})

it('records in a list of their kind may have their id under another name', () => {
  const answer = {
    policies: [{ id: uuid(15, 1), submission_id: OTHER }, { id: 'none' }],
    bind_requests: [{ id: uuid(14, 1) }],
    items: [{ id: uuid(1, 1) }],
  }
  expect(knownIdsIn(answer, ID)).toEqual([
    { kind: 'policy', id: uuid(15, 1), submissionId: OTHER, isStated: true },
    { kind: 'bind_request', id: uuid(14, 1), submissionId: ID },
  ])
})

describe.each(testDatabases)('objects with their own id, on $name', (database) => {
  async function mirror() {
    const { db } = await closedAtEnd(database.open())
    let readNo = 0
    const wire = wireById(ID)
    const bind = (over: Record<string, unknown> = {}) => {
      readNo += 1
      return applyAll(db, [idFact('acme', ID, 'bind_request', wire.ids.bind_request, { ...wire.bind_request, ...over }, readNo)])
    }
    return { db, wire, bind }
  }

  it('trap 59, trap 60: a bind request moves from any status to any, and an unknown one is kept', async () => {
    const { db, bind } = await mirror()
    for (const status of ['bound', 'drafted', 'paused by moonlight', 'bind_failed']) {
      await bind({ status })
      expect(await rowsOf(db, bindRequests)).toMatchObject([{ status, gone_at: null }])
    }
  })

  it('trap 57, trap 58, trap 61: fields and values that the specification does not show are kept', async () => {
    const { db, wire, bind } = await mirror()
    await bind({ priority: 'high', contingencies: [{ ...wire.bind_request.contingencies[0], esign_status: 'on the moon' }] })
    expect(await rowsOf(db, bindContingencies)).toMatchObject([{ esign_status: 'on the moon' }])
    expect(String((await rowsOf(db, bindRequests))[0]?.['raw'])).toContain('"priority":"high"')
  })

  it('trap 21: ids next to a list are known, too', async () => {
    const { db } = await mirror()
    await applyAll(db, [
      detailFact('acme', ID, 'outstanding', { ...wireDetails(ID).outstanding, policy_id: uuid(15, 1) }, 1),
      detailFact('acme', ID, 'sessions', { sessions: wireDetails(ID).sessions, insured: { insured_id: uuid(16, 1) } }, 1),
    ])
    const known = await db.read.sql.selectFrom('known_ids').select(['kind', 'id', 'via']).orderBy('kind').execute()
    expect(known).toEqual([
      { kind: 'insured', id: uuid(16, 1), via: 'sessions' },
      { kind: 'policy', id: uuid(15, 1), via: 'outstanding' },
    ])
  })

  it('trap 70: an assumption keeps any asserted value; a confirmed one is gone', async () => {
    const { db, bind } = await mirror()
    const values = [null, false, 0, '', { least: [1] }]
    await bind({ unconfirmed_assumptions: [...values.map((value, n) => ({ key: `k${n}`, label: 'x', value })), { key: 'k9', label: 'x' }] })
    const rows = (await rowsOf(db, bindAssumptions)).sort((a, b) => Number(a['position']) - Number(b['position']))
    expect(rows.map(({ value }) => value)).toEqual([...values, null])
    expect([rows[0], rows[5]].map((row) => String(row?.['raw']).includes('"value"'))).toEqual([true, false])
    await bind({ unconfirmed_assumptions: [{ key: 'k0', label: 'x', value: null }] })
    expect((await rowsOf(db, bindAssumptions)).filter(({ gone_at }) => gone_at === null).map(({ key }) => key)).toEqual(['k0'])
  })

  it('trap 47, trap 75: null steps are ignored, and no tax id of a bind request, a policy or an insured is stored', async () => {
    const { db, wire, bind } = await mirror()
    const ids = ['12-3456789', '123-45-6789', '98-7654321']
    await bind({ next_steps: null, unconfirmed_assumptions: [{ key: 'applicant.fein', label: 'FEIN', value: ids[0] }] })
    expect(await rowsOf(db, bindRequests)).toMatchObject([{ next_steps: null }])
    await bind({ next_steps: [] })
    expect(await rowsOf(db, bindRequests)).toMatchObject([{ next_steps: [] }])
    await applyAll(db, [idFact('acme', ID, 'policy', wire.ids.policy, { policy_id: wire.ids.policy, holder: { ssn: ids[1] } }, 1)])
    await applyAll(db, [idFact('acme', ID, 'insured', wire.ids.insured, { insured_id: wire.ids.insured, fein: ids[2] }, 1)])
    const stored: unknown[] = [await changesOf(db)]
    for (const entity of [bindRequests, bindAssumptions, policies, insureds]) stored.push(await rowsOf(db, entity))
    expect(ids.filter((id) => JSON.stringify(stored).includes(id))).toEqual([])
  })

  it('an answer that changed nothing writes nothing, and ids are known once', async () => {
    const { db, bind } = await mirror()
    await bind()
    const before = (await changesOf(db)).length
    await bind()
    await applyAll(db, [observedEvent('acme', ID, wireEvent(1, { policy_id: uuid(15, 1) })), observedMessage('acme', ID, wireMessage(1))])
    expect((await changesOf(db)).slice(before).map(({ entity }) => entity)).not.toContain('bind_requests')
    const known = await db.read.sql.selectFrom('known_ids').select(['kind', 'id', 'submission_id', 'via']).orderBy('kind').execute()
    expect(known).toEqual([
      { kind: 'bind_request', id: uuid(14, 1), submission_id: ID, via: 'bind_request' },
      { kind: 'document', id: uuid(4, 1), submission_id: ID, via: 'webhook' },
      { kind: 'policy', id: uuid(15, 1), submission_id: ID, via: 'bind_request' },
    ])
  })

  const stored = async (db: Db) => ({
    known: await db.read.all(sql<Columns<'known_ids', 'kind' | 'id' | 'submission_id'>>`
    select kind, id, submission_id from known_ids where kind <> 'document' order by kind`),
    policies: (await rowsOf(db, policies)).map(({ submission_id }) => submission_id),
    documents: (await rowsOf(db, documents)).map(({ submission_id, gone_at }) => [submission_id, gone_at]),
    binds: (await rowsOf(db, bindRequests)).map(({ submission_id }) => submission_id),
  })

  it('the policies of an insured belong to no submission until an answer names one; so do their bind requests', async () => {
    const { db, wire } = await mirror()
    const listed = [{ policy_id: wire.ids.policy, bind_request_id: wire.ids.bind_request }]
    const insured = (list: readonly Json[]) => ({ insured_id: wire.ids.insured, submissions: [{ submission_id: ID }], policies: list })
    await applyAll(db, [idFact('acme', ID, 'insured', wire.ids.insured, insured(listed), 1)])
    const found = await stored(db)
    expect(found.known.filter(({ kind }) => kind !== 'insured')).toEqual([
      { kind: 'bind_request', id: wire.ids.bind_request, submission_id: null },
      { kind: 'policy', id: wire.ids.policy, submission_id: null },
    ])
    expect((await listIdsOf(db.read, 'acme', [''])).map(({ read }) => read)).not.toContain('bind_request')
    await applyAll(db, [idFact('acme', ID, 'insured', wire.ids.insured, insured([{ ...listed[0], submission_id: OTHER }]), 2)])
    expect((await listIdsOf(db.read, 'acme', [OTHER])).map(({ read }) => read)).toEqual(['bind_request', 'policy'])
  })

  const path = `/broker/finalized-documents/${uuid(4, 7)}/pdf`
  it.each([
    ['lower', ID, OTHER],
    ['higher', OTHER, ID],
  ])('a record moves, with its documents, from a submission with a %s id to the one that it names itself', async (_, wrong, right) => {
    const { db, wire } = await mirror()
    const { submission_id: __, ...unnamed } = { ...wireById(wrong).policy, binder: { documents: [{ download_path: path }] } } as Row
    await applyAll(db, [idFact('acme', wrong, 'policy', wire.ids.policy, unnamed, 1)])
    expect(await stored(db)).toMatchObject({ policies: [wrong], documents: [[wrong, null]] })
    const named = idFact('acme', wrong, 'policy', wire.ids.policy, { ...unnamed, submission_id: right }, 2)
    const reader = new MirrorReader(db.read, 'acme')
    await reader.preload([wrong], 100)
    expect(isUnchanged(reader, wrong, [named], [])).toBe(false)
    expect((await compareObservations(reader, [named], named.readAt)).changed).toContainEqual(
      expect.objectContaining({ entity: 'policies', after: { submission_id: right } }),
    )
    await applyAll(db, [named])
    expect(await stored(db)).toMatchObject({ policies: [right], documents: [[right, null]] })
    expect((await stored(db)).known).toContainEqual({ kind: 'policy', id: wire.ids.policy, submission_id: right })
    // The record itself counts more than where it was found.
    await applyAll(db, [observedEvent('acme', wrong, wireEvent(1, { policy_id: wire.ids.policy }))])
    expect((await stored(db)).known).toContainEqual({ kind: 'policy', id: wire.ids.policy, submission_id: right })
    await applyAll(db, [idFact('acme', wrong, 'bind_request', wire.ids.bind_request, wireById(right).bind_request, 1)])
    expect((await stored(db)).binds).toEqual([right])
  })

  it('what belongs to no submission is mirrored all the same', async () => {
    const { db, wire } = await mirror()
    await applyAll(db, [idFact('acme', '', 'policy', wire.ids.policy, { policy_id: wire.ids.policy }, 1)])
    expect(await rowsOf(db, policies)).toMatchObject([{ policy_id: wire.ids.policy, submission_id: null }])
    expect(await rowsOf(db, submissions)).toEqual([])
  })
})
