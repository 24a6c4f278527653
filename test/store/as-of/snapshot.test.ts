import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { submissions } from '../../../src/model/entities/submissions.ts'
import { entities } from '../../../src/model/entities.ts'
import { columnsWhere, type Entity, isInChangeLog, type Row } from '../../../src/model/entity.ts'
import type { Observation } from '../../../src/model/observations.ts'
import { keyText } from '../../../src/model/row-key.ts'
import { readSnapshot, type SnapshotOf } from '../../../src/store/as-of/snapshot.ts'
import { lastAssignedSeq } from '../../../src/store/changes/log-ends.ts'
import type { Db, Query } from '../../../src/store/engine/db.ts'
import { openItemsOf, quotesOf } from '../../../src/store/mirror/open-work.ts'
import { wholeSubmission } from '../../../src/store/mirror/whole-submission.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  at,
  byFullRead,
  byPoll,
  byWebhook,
  idFact,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
  uuid,
  wireById,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const SUBMISSIONS = [uuid(9, 1), uuid(9, 2)]
const CASES = process.env['NIGHTLY'] ? 100 : 15

interface Step {
  readonly what: 'event' | 'message' | 'rail' | 'id' | 'absent' | 'reach'
  readonly submission: number
  readonly n: number
}

/** Both submissions name the same document and the same policy, so that these rows move. */
function observation(account: string, { what, submission, n }: Step, readNo: number): Observation {
  const id = SUBMISSIONS[submission] ?? ''
  switch (what) {
    case 'event':
      return observedEvent(account, id, wireEvent(n, { detail: readNo % 2 ? null : `Reason ${n}` }), n % 2 ? byWebhook : byPoll)
    case 'message': {
      const attachments = [{ name: 'a.pdf', download_path: readNo % 2 ? null : `/broker/finalized-documents/${uuid(4, n % 2)}/pdf` }]
      return observedMessage(account, id, wireMessage(n, { attachments }), byFullRead)
    }
    case 'rail': {
      const quote = { quote_id: uuid(7, n), premium_display: '$1,200', total_cents: 120_000 + readNo, lines: [], is_revision: n > 1 }
      const offer = { presentation_id: 'p1', kind: 'quote', document_url: 'https://carrier.example/q', filename: `of ${id}.pdf` }
      const lane = wireLane(0, {
        quotes: n > 0 ? [quote] : [],
        source_offers: n % 2 ? [offer] : [],
        chip: n > 0 ? 'quoted' : 'in_progress',
      })
      return observedState(account, id, wireRequirements(id, n === 3 ? null : [lane, ...(n === 2 ? [wireLane(1)] : [])]), readNo)
    }
    case 'id': {
      const wire = wireById(id)
      const kind = (['bind_request', 'policy', 'insured'] as const)[n % 3] ?? 'policy'
      return idFact(account, id, kind, wire.ids[kind], { ...wire[kind], changed: readNo }, readNo)
    }
    case 'absent':
      return {
        kind: 'absent',
        cause: 'reconcile',
        account,
        submissionId: id,
        events: [uuid(1, n)],
        messages: [uuid(2, n)],
        attachments: [],
        goneAt: `${at(n).slice(0, 19)}.000000Z` as never,
      }
    case 'reach':
      return {
        kind: 'reach',
        cause: 'poll',
        account,
        submissionId: id,
        unreachableSince: n % 2 ? null : (`${at(n).slice(0, 19)}.000000Z` as never),
      }
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('event', 'message', 'rail', 'rail', 'id', 'id', 'absent', 'reach'),
  submission: fc.integer({ min: 0, max: 1 }),
  n: fc.integer({ min: 0, max: 3 }),
})
const history = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 10 })

type Tables = Record<string, Row[]>

/** The rows of a submission with the columns of the change log, and what the page shows of them. */
async function tablesOf(q: Query, account: string, submissionId: string): Promise<Tables> {
  const key = { account, submission_id: submissionId }
  const own: Tables = {}
  for (const entity of entities) own[entity.table] = kept(entity, await q.selectWhere(entity, key))
  const whole = (await wholeSubmission(q, key)).map(({ entity, rows }) => [`whole ${entity.table}`, kept(entity, rows)])
  const stages = (await q.selectWhere(submissions, key)).map(({ stage }) => ({ stage: stage ?? null }))
  return { ...own, ...Object.fromEntries(whole), stages, open: await openItemsOf<Row>(q, key), quotes: await quotesOf<Row>(q, key) }
}

function kept(entity: Entity, rows: readonly Row[]): Row[] {
  const columns = columnsWhere(entity, isInChangeLog)
  return rows
    .map((row) => Object.fromEntries(columns.map((column) => [column, row[column] ?? null])))
    .sort((a, b) => (keyText(entity, a) < keyText(entity, b) ? -1 : 1))
}

async function restored(db: Db, of: SnapshotOf): Promise<Tables> {
  return await readSnapshot(db.read, of, (q) => tablesOf(q, of.account, of.submissionId))
}

describe.each(testDatabases)('the rows of a submission as of a change, on $name', ({ open }) => {
  it(`equal a copy of the tables taken then, in ${CASES} random histories`, async () => {
    const { db } = await closedAtEnd(open())
    let account = 0
    await fc.assert(
      fc.asyncProperty(history, fc.nat(), async (steps, moment) => {
        const name = `a${account++}`
        const copies: { seq: number; tables: Tables[] }[] = []
        const take = async () => {
          const seq = await lastAssignedSeq(db.read)
          copies.push({ seq, tables: await Promise.all(SUBMISSIONS.map((id) => tablesOf(db.read, name, id))) })
        }
        await applyAll(
          db,
          SUBMISSIONS.map((id) => trackFact(name, id)),
        )
        await take()
        for (const [index, group] of steps.entries()) {
          await applyAll(
            db,
            group.map((each) => observation(name, each, index + 1)),
          )
          await take()
        }
        const { seq, tables } = copies[moment % copies.length] ?? { seq: 0, tables: [] }
        for (const [index, submissionId] of SUBMISSIONS.entries())
          expect(await restored(db, { account: name, submissionId, seq }), `after change ${seq}`).toEqual(tables[index])
      }),
      { numRuns: CASES },
    )
  })
})
