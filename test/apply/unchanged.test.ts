import { describe, expect, it } from 'vitest'
import { compareObservations, differs } from '../../src/apply/compare.ts'
import { isUnchanged } from '../../src/apply/unchanged.ts'
import { entities } from '../../src/model/entities.ts'
import type { ColumnKind, Entity, Row } from '../../src/model/entity.ts'
import type { Json } from '../../src/model/json.ts'
import type { Observation, Origin } from '../../src/model/observations.ts'
import { detailReads } from '../../src/model/reads.ts'
import { derivedObservations } from '../../src/reconcile/check/comparer.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { MirrorReader } from '../../src/store/mirror/reader.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, rowsOf } from '../tools/mirror.ts'
import {
  at,
  detailFact,
  idFacts,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireDetails,
  wireEvent,
  wireLane,
  wireMessage,
  wireReadiness,
  wireRequirements,
} from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const PLACE = { account: 'acme', submissionId: uuid(9, 1) }
const byReconcile: Origin = { via: 'reconcile', cause: 'reconcile', isFullRead: true, firstFeedRead: false }
const NOW = '2026-02-01T00:00:00.000000Z'

const quote = { quote_id: uuid(7, 1), premium_display: '$1,200', total_cents: 120_000, lines: ['gl'], is_revision: false }
const offer = { presentation_id: uuid(8, 1), kind: 'quote', label: 'Proposal', document_url: 'https://x.example/x', filename: 'x.pdf' }
const history = { history_key: 'old', market_name: 'A', program: null, outcome: 'expired', observed_at: at(1) }
const view = wireRequirements(
  PLACE.submissionId,
  [wireLane(1, { quotes: [quote], source_offers: [offer] })],
  wireReadiness(PLACE.submissionId),
  { quote_history: [history] },
)

const { account, submissionId } = PLACE
const states = [
  observedState(account, submissionId, view, 1),
  ...detailReads.map((read) => detailFact(account, submissionId, read, wireDetails(submissionId)[read], 1)),
  ...idFacts(account, submissionId),
]
const records = [
  observedEvent(account, submissionId, wireEvent(1, { detail: 'Kept' }), byReconcile),
  observedMessage(account, submissionId, wireMessage(2), byReconcile),
]

/** A value that a column of this kind can hold, and that no row has. */
const others: Readonly<Record<Exclude<ColumnKind, 'bool'>, Json>> = {
  text: 'other',
  int: 4711,
  real: 0.5,
  json: ['other'],
  time: '2020-01-01T00:00:00.000000Z',
  date: '2020-01-01',
  raw: '{"other":1}',
}

describe.each(testDatabases)('comparing plainly, on $name', ({ open }) => {
  async function readerOf(db: Db): Promise<MirrorReader> {
    const reader = new MirrorReader(db.read, account)
    await reader.preload([submissionId], 100)
    return reader
  }

  async function changes(reader: MirrorReader): Promise<boolean> {
    const facts: readonly (readonly Observation[])[] = [states, records, derivedObservations(PLACE, NOW, true)]
    return (await Promise.all(facts.map((some) => compareObservations(reader, some, NOW)))).some(differs)
  }

  const isSame = (reader: MirrorReader) => isUnchanged(reader, submissionId, states, records)

  function write(db: Db, entity: Entity, column: string, row: Row): Promise<number> {
    return db.write('test', (tx) => tx.updateMany(entity, [column], [row]))
  }

  it('never says yes where apply would change something, whichever column was changed', async () => {
    const { db } = await closedAtEnd(open())
    await applyAll(db, [...records, ...states])
    await applyAll(db, derivedObservations(PLACE, NOW, true))
    expect(isSame(await readerOf(db))).toBe(true)
    const wrong: string[] = []
    for (const entity of entities as readonly Entity[]) {
      const [row] = await rowsOf(db, entity)
      if (row === undefined) throw new Error(`${entity.table} has no row`)
      for (const [column, kind] of Object.entries(entity.columns)) {
        if (entity.key.includes(column)) continue
        await write(db, entity, column, { ...row, [column]: kind === 'bool' ? row[column] !== true : others[kind] })
        const reader = await readerOf(db)
        if (isSame(reader) && (await changes(reader))) wrong.push(`${entity.table}.${column}`)
        await write(db, entity, column, row)
      }
    }
    expect(wrong).toEqual([])
    const reader = await readerOf(db)
    expect({ same: isSame(reader), changes: await changes(reader) }).toEqual({ same: true, changes: false })
  })
})
