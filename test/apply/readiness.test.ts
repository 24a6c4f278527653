import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { carrierApiSessions } from '../../src/model/entities/carrier-api-sessions.ts'
import { documentsOnFile } from '../../src/model/entities/documents-on-file.ts'
import { marketReadiness } from '../../src/model/entities/market-readiness.ts'
import { programAssessments } from '../../src/model/entities/program-assessments.ts'
import { requirementItems } from '../../src/model/entities/requirement-items.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import type { Json } from '../../src/model/json.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import { observedState, uuid, wireLane, wireReadiness, wireRequirements } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const LANE = uuid(3, 1)
const PROGRAM = uuid(6, 1)
const all = [marketReadiness, carrierApiSessions, documentsOnFile, programAssessments, requirementItems]

const sha = (...fields: Json[]) => hash('sha256', JSON.stringify(fields), 'hex')
const isThere = ({ gone_at }: Record<string, unknown>) => gone_at === null

describe.each(testDatabases)('lists of a requirements view other than the rail, on $name', (database) => {
  let readNo = 0
  async function mirror() {
    const opened: OpenedDatabase = await closedAtEnd(database.open())
    const { db } = opened
    /** @returns the changes that applying a view makes. */
    const show = async (over: Record<string, Json> = {}, lanes: Json[] | null = [wireLane(1)]) => {
      const last = (await changesOf(db)).length
      readNo += 1
      await applyAll(db, [observedState(ACCOUNT, ID, wireRequirements(ID, lanes, { ...wireReadiness(ID), ...over }), readNo)])
      return (await changesOf(db)).slice(last)
    }
    const gone = async () => {
      const rows = await Promise.all(all.map(async (entity) => (await rowsOf(db, entity)).filter((row) => !isThere(row)).length))
      return rows.reduce((sum, count) => sum + count, 0)
    }
    return { db, show, gone }
  }

  const assessment = (programs: Json[], over = {}) => ({ ...(wireReadiness(ID)['assessment'] as object), programs, ...over })
  const { programs } = wireReadiness(ID)['assessment'] as unknown as { programs: Record<string, Json>[] }
  const program = programs[0] ?? {}

  it('trap 57: are in tables, under the names of the service, with each object as it came', async () => {
    const { db, show } = await mirror()
    const [market] = wireReadiness(ID)['markets'] as Json[]
    await show({ markets: [{ ...(market as object), reason: { of_later: [1] } }] })
    expect(await rowsOf(db, marketReadiness)).toMatchObject([
      {
        readiness_key: sha(LANE, 'Market 1', 'Main program'),
        lane_id: LANE,
        ready: false,
        needs_from_you: ['Payroll'],
        hedge_obtains: ['Loss runs'],
        gone_at: null,
      },
    ])
    expect((await rowsOf(db, marketReadiness))[0]?.['raw']).toContain('"reason":{"of_later":[1]}')
    expect(await rowsOf(db, carrierApiSessions)).toMatchObject([
      { session_id: uuid(11, 1), completion_pct: 62.5, has_quote: false, outcome: null },
    ])
    expect(await rowsOf(db, documentsOnFile)).toMatchObject([{ item_key: sha('loss_runs', 'Loss runs.pdf'), kind_label: 'Loss runs' }])
    expect(await rowsOf(db, programAssessments)).toMatchObject([
      { lane_id: LANE, channel: 'api', enforcement: 'enforce', submit_ready: false },
    ])
    expect((await rowsOf(db, requirementItems)).map(({ item_key, result, satisfied }) => [item_key, result, satisfied]).sort()).toEqual(
      [
        ['applicant.name', 'met', true],
        ['signed', 'deferred', null],
        [sha('Payroll'), 'unmet', false],
      ].sort(),
    )
  })

  it('trap 64: null, absent and unreadable lists mean unknown: nothing is gone', async () => {
    const { show, gone } = await mirror()
    await show()
    await show({ assessment: null }, null)
    await show({ markets: null, carrier_api_sessions: 'none', documents_on_file: null, assessment: { programs: null } })
    await show({ markets: [4711], assessment: assessment([{ market_name: 'without an id' }]) })
    await show({ assessment: assessment([{ ...program, met: null, unmet: null, deferred: [] }]) })
    expect(await gone()).toBe(0)
  })

  it('trap 62: empty lists while markets are being matched mean "not yet"', async () => {
    const { show, gone } = await mirror()
    await show()
    const empty = { markets: [], carrier_api_sessions: [], assessment: assessment([]) }
    await show({ marketing_status: 'matching', ...empty }, [])
    expect(await gone()).toBe(0)
    await show({ marketing_status: 'matched', ...empty }, [])
    expect(await gone()).toBe(6)
    await show()
    expect(await gone()).toBe(0)
  })

  it('trap 66: a market without a lane has a row, and another row once it has a lane', async () => {
    const { db, show } = await mirror()
    const [market] = wireReadiness(ID)['markets'] as Record<string, Json>[]
    await show({
      markets: [
        { ...market, lane_id: null },
        { ...market, lane_id: null, ready: true },
      ],
    })
    const key = sha(null, 'Market 1', 'Main program')
    expect((await rowsOf(db, marketReadiness)).map((row) => [row['readiness_key'], row['ready']])).toEqual([
      [key, false],
      [`${key}#2`, true],
    ])
    await show()
    expect((await rowsOf(db, marketReadiness)).filter(isThere)).toMatchObject([{ lane_id: LANE }])
  })

  it('trap 67: requirements without a key, or with the same key, are separate rows', async () => {
    const { db, show } = await mirror()
    const item = { label: 'Loss runs', satisfied: false }
    const unmet = [
      { ...item, key: null },
      { ...item, key: null },
      { ...item, key: 'a' },
      { ...item, key: 'a' },
      { ...item, key: '' },
    ]
    await show({ assessment: assessment([{ ...program, met: [], unmet, deferred: [] }]) })
    const nameless = sha('Loss runs')
    expect((await rowsOf(db, requirementItems)).map(({ item_key }) => item_key).sort()).toEqual(
      ['a', 'a#2', nameless, `${nameless}#2`, `${nameless}#3`].sort(),
    )
  })

  it('trap 68: a requirement that was met later is the same row; one that vanished is gone, and comes back', async () => {
    const { db, show } = await mirror()
    await show()
    const { met, unmet } = program as unknown as { met: Json[]; unmet: Json[] }
    const next = assessment([{ ...program, met: [...met, ...unmet], unmet: [], deferred: [] }])
    const changes = await show({ assessment: next })
    expect(changes.map(({ entity, entity_id, operation }) => [entity, JSON.parse(entity_id).slice(2), operation]).sort()).toEqual(
      [
        ['requirement_items', [PROGRAM, sha('Payroll')], 'update'],
        ['requirement_items', [PROGRAM, 'signed'], 'gone'],
      ].sort(),
    )
    expect(await show()).toHaveLength(2)
    expect((await rowsOf(db, requirementItems)).filter(isThere)).toHaveLength(3)
    await show({ assessment: assessment([]) })
    expect((await rowsOf(db, requirementItems)).filter(isThere)).toEqual([])
  })

  it('new times of the assessment alone are stored and are no change', async () => {
    const { db, show } = await mirror()
    await show()
    const [before] = await rowsOf(db, programAssessments)
    const time = '2026-02-01T00:00:00.000000Z'
    expect(await show({ assessment: assessment([{ ...program, evaluated_at: time }], { generated_at: time }) })).toEqual([])
    expect(await rowsOf(db, programAssessments)).toEqual([{ ...before, evaluated_at: time }])
    expect(await rowsOf(db, submissions)).toMatchObject([{ assessment_generated_at: time }])
  })

  it('trap 77: hedge_obtains is a column under its own name', async () => {
    const { db, show } = await mirror()
    await show()
    expect((await rowsOf(db, marketReadiness))[0]).toHaveProperty('hedge_obtains', ['Loss runs'])
  })
})
