import { beforeAll, describe, expect, it } from 'vitest'
import { recordsOf } from '../../../src/ops/output/csv.ts'
import { testDatabases } from '../../tools/databases.ts'
import { putOutbox } from '../../tools/destinations.ts'
import { applyAll } from '../../tools/mirror.ts'
import { byPoll, observedMessage, observedState, uuid, wireMessage, wireRequirements } from '../../tools/observations.ts'
import { adminRigForAll } from './rig.ts'

const MANY = 450
const HOSTILE = '=HYPERLINK("https://example.com"), Inc.'

describe.each(testDatabases)('lists as CSV, and their counts, on $name', (database) => {
  const rig = adminRigForAll(database)
  beforeAll(async () => {
    await putOutbox(rig.db, 'ams', { ready: MANY, dead: 3 })
    await applyAll(rig.db, [
      observedState('default', uuid(9, 1), wireRequirements(uuid(9, 1), [], { insured_name: HOSTILE }), 1),
      observedMessage('default', uuid(9, 2), wireMessage(1, {}), byPoll),
    ])
  })

  const csv = async (path: string) => {
    const answer = await rig.ask('GET', path)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [columns = [], ...rows] = [...recordsOf(answer.text)].map(({ cells }) => cells)
    return { answer, columns, rows, cell: (row: number, name: string) => rows[row]?.[columns.indexOf(name)] }
  }

  it('contain all pages of the filtered list', async () => {
    const all = await csv('/outbox.csv?destination=ams')
    expect(all.answer.headers.get('content-disposition')).toMatch(/^attachment; filename="outbox-\d{4}-\d\d-\d\d\.csv"$/)
    expect(new Set(all.rows.map((row) => row[0])).size).toBe(MANY + 3)
    const dead = await csv('/outbox.csv?destination=ams&state=dead')
    expect([dead.rows.length, dead.cell(0, 'state')]).toEqual([3, 'dead'])
    expect((await csv('/inbox.csv')).rows).toEqual([])
  })

  it('have no formulas, lists as JSON, and the columns of the screen', async () => {
    const { rows, cell, columns } = await csv('/submissions.csv?sort=name')
    expect(rows).toHaveLength(2)
    const row = rows.findIndex((each) => each.includes(uuid(9, 1)))
    expect(cell(row, 'insured_name')).toBe(`'${HOSTILE}`)
    expect(cell(row, 'lanes')).toBe('[]')
    for (const column of ['stage', 'best_quote_total_cents', 'best_quote_market_name', 'outstanding_count', 'pushed_dead'])
      expect(columns).toContain(column)
    for (const each of rows) expect(each).toHaveLength(columns.length)
  })

  it('reject what the list rejects', async () => {
    expect((await rig.ask('GET', '/outbox.csv?destination=nobody')).status).toBe(404)
    expect((await rig.ask('GET', '/outbox.csv?limit=3')).status).toBe(400)
  })

  it('are counted by state', async () => {
    const counts = async (path: string) => (await rig.ask<{ items: object[] }>('GET', path)).json.items
    const states = ['ready', 'done', 'aside', 'dead', 'rejected']
    expect(await counts('/inbox/counts')).toEqual(states.map((state) => ({ state, count: 0, is_complete: true })))
    const found = (await counts('/submissions/counts')) as { stage: string; count: number }[]
    expect(found.map(({ stage }) => stage)).toContain('unreachable')
    expect(found.reduce((sum, each) => sum + each.count, 0)).toBeGreaterThan(0)
  })
})
