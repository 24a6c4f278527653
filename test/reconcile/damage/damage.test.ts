import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { alterations, type DamageCase, deletions } from './cases.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

const AT_ONCE = [
  'an event',
  'a message with its attachments',
  'an attachment',
  'a submission, with all that polls it',
  'what a submission is about',
  'identity fields of events',
  'state, of every kind',
]

/** One mirror for all cases of a database; each case must leave it whole. */
describe.each(testDatabases)('a damaged mirror on $name', (database) => {
  const closing: (() => Promise<void>)[] = []
  let rig: DamageRig
  beforeAll(async () => {
    rig = await DamageRig.open(database, (close) => closing.push(close))
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  it('without damage: a run finds nothing and writes only its report', async () => {
    const before = await rig.state()
    const first = await rig.reconcile()
    expect({ code: first.code, err: first.err, found: findingTexts(first.findings) }).toEqual({ code: 0, err: '', found: [] })
    expect(first.run).toMatchObject({ state: 'done', exit_code: 0, submissions_total: 2, submissions_done: 2, repaired: 0, known: 0 })
    expect(first.run.rows_compared).toBeGreaterThan(140)
    expect(await rig.state()).toEqual(before)
    expect(await rig.differences()).toEqual([])
  })

  async function provesRepair({ make }: Pick<DamageCase, 'make'>): Promise<void> {
    const { statements, found } = make(rig)
    await rig.damage(...statements)
    const ended = await rig.reconcile()
    expect({ code: ended.code, err: ended.err, found: findingTexts(ended.findings) }).toEqual({
      code: 0,
      err: '',
      found: [...found].sort(),
    })
    expect(ended.findings.filter((finding) => finding.repaired_at === null)).toEqual([])
    expect(ended.run).toMatchObject({ state: 'done', repaired: found.length, known: 0 })
    expect(await rig.differences()).toEqual([])
  }

  // One by one only on SQLite, since both databases return the same rows.
  const alone = database.name === 'sqlite'
  it.each(alone ? deletions : [])('from which was deleted: $name', provesRepair)

  it.each(alone ? alterations : [])('in which was changed: $name', provesRepair)

  it('in many ways: a dry run changes nothing, a repair is in the change log, and the next run finds nothing', async () => {
    const made = [...deletions, ...alterations].filter(({ name }) => AT_ONCE.includes(name)).map(({ make }) => make(rig))
    expect(made).toHaveLength(AT_ONCE.length)
    const found = made.flatMap((one) => one.found).sort()
    await rig.damage(...made.flatMap(({ statements }) => statements))
    const damaged = await rig.state()
    const dry = await rig.reconcile('--dry-run')
    expect({ code: dry.code, found: findingTexts(dry.findings) }).toEqual({ code: 3, found })
    expect(dry.findings.filter((finding) => finding.repaired_at !== null || finding.known)).toEqual([])
    expect(await rig.state()).toEqual(damaged)
    expect(findingTexts((await rig.reconcile()).findings)).toEqual(found)
    expect(await rig.unlogged()).toEqual([])
    const repaired = await rig.state()
    const next = await rig.reconcile()
    expect({ code: next.code, found: findingTexts(next.findings) }).toEqual({ code: 0, found: [] })
    expect(await rig.state()).toEqual(repaired)
  })

  it("in which was changed: only an event's values in a lane of the rail", async () => {
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const lane = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
    await rig.command('track', id)
    await rig.command('sync', id)
    const set = (assignment: string) => `update lanes set ${assignment} where account = '${ACCOUNT}' and lane_id = '${lane}'`
    for (const [column, value] of [
      ['state_event_id', uuid(1, 1)],
      ['state_occurred_at', '2026-01-01T00:00:00.000000Z'],
    ] as const) {
      await provesRepair({ make: () => ({ statements: [set(`${column} = '${value}'`)], found: [`different lanes ${lane} (${column})`] }) })
    }
  })

  it('in which was changed: the insured of a submission, known only from its policy', async () => {
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const lane = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
    rig.sandbox.patchLane(ACCOUNT, id, lane, { rail: { bound: true, chip: 'bound' } })
    await rig.command('track', id)
    await rig.command('sync', id)
    const set = (value: string) => `update submissions set insured_id = ${value} where account = '${ACCOUNT}' and submission_id = '${id}'`
    for (const value of [`'${uuid(1, 1)}'`, 'null'])
      await provesRepair({ make: () => ({ statements: [set(value)], found: ['different submissions (insured_id)'] }) })
  })
})
