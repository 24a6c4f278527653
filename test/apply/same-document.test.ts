import { describe, expect, it, onTestFinished } from 'vitest'
import { documents as documentsTable } from '../../src/model/entities/documents.ts'
import { openedDb, openedDbs } from '../push/outbox.ts'
import { openAgain, testDatabases } from '../tools/databases.ts'
import { overlap } from '../tools/held-open.ts'
import { applyAll, rowsOf } from '../tools/mirror.ts'
import { observedMessage, observedState, uuid, wireLane, wireMessage, wireRequirements } from '../tools/observations.ts'

const ACCOUNT = 'default'
const [LOW, HIGH] = [uuid(9, 1), uuid(9, 2)]

function view(submissionId: string, readNo: number, isNamed: boolean) {
  const offer = { presentation_id: 'p1', kind: 'quote', document_url: 'https://carrier.example/q', filename: `of ${submissionId}.pdf` }
  const lane = wireLane(1, { source_offers: isNamed ? [offer] : [] })
  return observedState(ACCOUNT, submissionId, wireRequirements(submissionId, [lane]), readNo)
}
const [namedByLow, namedByHigh] = [view(LOW, 1, true), view(HIGH, 1, true)]
const [leftByLow, leftByHigh] = [view(LOW, 2, false), view(HIGH, 2, false)]
const ofHigh = [{ submission_id: HIGH, name: `of ${HIGH}.pdf`, gone_at: null }]

describe.each(testDatabases)('a document that two submissions name, on $name', ({ name, open }) => {
  it.each([
    ['the first', [[namedByLow], [namedByHigh], [leftByLow]]],
    ['the second', [[namedByHigh], [namedByLow], [leftByLow]]],
    ['the first while the other begins to', [[namedByLow], [namedByHigh, leftByLow]]],
    ['the first that named it again', [[namedByHigh], [namedByLow], [leftByLow], [view(LOW, 3, true)], [view(LOW, 4, false)]]],
  ])('goes to the other submission if %s no longer names it', async (_, steps) => {
    const db = await openedDb(open)
    for (const facts of steps) await applyAll(db, facts)
    expect(await rowsOf(db, documentsTable)).toMatchObject(ofHigh)
    await applyAll(db, [leftByHigh])
    expect(await rowsOf(db, documentsTable)).toMatchObject([{ gone_at: expect.any(String) }])
  })

  // On SQLite one transaction waits for the other anyway.
  const orders = [
    ['after', leftByLow, namedByHigh],
    ['before', namedByHigh, leftByLow],
  ] as const
  it.each(name === 'postgres' ? orders : [])(
    'goes to the other submission if that begins to name it just %s the first no longer does',
    async (_, first, second) => {
      const [one, two] = await openedDbs(open, 2)
      if (one === undefined || two === undefined) throw new Error('no database')
      await applyAll(one, [namedByLow])
      await overlap(
        one,
        'test-apply',
        (held) => applyAll(held, [first]),
        () => applyAll(two, [second]),
      )
      expect(await rowsOf(one, documentsTable)).toMatchObject(ofHigh)
    },
  )

  it('is stored once if both become known at the same time, without another attempt', async () => {
    const { db, config, close } = await open()
    const other = await openAgain(config)
    onTestFinished(async () => {
      await other.close()
      await close()
    })
    for (let n = 0; n < 30; n++) {
      await Promise.all([db, other].map((each, index) => applyAll(each, [observedMessage(ACCOUNT, uuid(9, index), wireMessage(n))])))
    }
    const documents = await db.read.sql.selectFrom('documents').select('document_key').execute()
    expect(documents.length).toBeGreaterThan(0)
    expect(new Set(documents.map((row) => row.document_key)).size).toBe(documents.length)
  })
})
