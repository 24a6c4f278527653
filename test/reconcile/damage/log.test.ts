import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { logEnds } from '../../../src/store/changes/log-info.ts'
import { changesAfter } from '../../../src/store/changes/reader.ts'
import { requestRun } from '../../../src/store/reconcile/claims.ts'
import { listFindings } from '../../../src/store/reconcile/findings.ts'

import { onSqlite } from '../../tools/databases.ts'
import { RunRig } from '../rig.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

/** One mirror for all cases of a database; each continues with the change log of the previous one. */
describe.each(onSqlite)('a change log with deleted rows, on $name', (database) => {
  const closing: (() => Promise<void>)[] = []
  let rig: DamageRig
  let end: number
  beforeAll(async () => {
    rig = await DamageRig.open(database, (close) => closing.push(close))
    end = (await logEnds(rig.db.read)).last_seq
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  it('has holes, new in the first run and known later, in all accounts, but not after a dry run', async () => {
    await rig.damage('delete from changes where seq in (7, 8, 9, 30)', `delete from changes where seq >= ${end - 1}`)
    const found = ['lost changes 7 9', 'lost changes 30 30', `lost changes ${end - 1} ${end}`].sort()
    expect(await rig.reconcile('--submission', rig.plain)).toMatchObject({ code: 0, findings: [] })
    const dry = await rig.reconcile('--dry-run')
    expect({ code: dry.code, found: findingTexts(dry.findings) }).toEqual({ code: 3, found })
    expect(dry.run).toMatchObject({ lost: 3, missing: 0, different: 0, absent: 0, repaired: 0, known: 0 })
    expect(dry.out).toContain('found: 3 lost; 0 repaired, 3 unresolved')
    expect(dry.out).toContain('changes 7 to 9 are no longer in the change log')
    await rig.damage('delete from changes where seq = 12')
    const again = await rig.reconcile('--dry-run')
    expect({ code: again.code, run: again.run }).toMatchObject({ code: 3, run: { lost: 4, known: 0 } })
    const next = await rig.reconcile()
    expect({ code: next.code, found: findingTexts(next.findings) }).toEqual({ code: 3, found: [...found, 'lost changes 12 12'].sort() })
    expect(next.run).toMatchObject({ lost: 4, known: 0 })
    await rig.damage("update reconcile_findings set account = 'another'")
    expect(await rig.reconcile('--dry-run')).toMatchObject({ code: 0, run: { lost: 0, known: 4 } })
    const last = await rig.reconcile()
    expect({ code: last.code, found: findingTexts(last.findings) }).toEqual({ code: 0, found: findingTexts(next.findings) })
    expect(last.run).toMatchObject({ lost: 0, known: 4 })
  })

  it('has none in changes deleted by retention, and keeps the rest of a known hole', async () => {
    await rig.damage(`delete from changes where seq <> ${end - 20}`, `update mirror_info set first_seq = ${end - 20}`)
    expect(await rig.reconcile()).toMatchObject({ code: 3, run: { lost: 1, known: 0 } })
    await rig.damage('delete from changes', `update mirror_info set first_seq = ${end - 10}`)
    const rest = await rig.reconcile()
    expect({ code: rest.code, found: findingTexts(rest.findings) }).toEqual({ code: 0, found: [`lost changes ${end - 10} ${end}`] })
    await rig.damage(`update mirror_info set first_seq = ${end + 1}`)
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('with more holes than a run lists reports their number', async () => {
    await rig.damage(
      `insert into changes (seq, account, entity, entity_id, operation, changed_at, cause)
       with recursive n(i) as (select 1 union all select i + 1 from n where i < 105)
       select ${end} + 2 * i, 'default', 'lanes', '[]', 'update', tracked_at, 'poll' from n cross join submissions
       where submission_id = '${rig.plain}'`,
      `update mirror_info set last_seq = ${end + 2 * 105}`,
    )
    const first = await rig.reconcile()
    expect(first).toMatchObject({ code: 3, run: { lost: 101, known: 0 } })
    expect(first.findings.at(-1)).toMatchObject({ kind: 'lost', entity_id: null, detail: expect.stringContaining('5 more gaps') })
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { lost: 0, known: 101 } })
  })

  it('with a wrong end continues after its newest change, and a run reports it', async () => {
    const { last_seq } = await logEnds(rig.db.read)
    const submission = `account = '${ACCOUNT}' and submission_id = '${rig.plain}'`
    await rig.damage('update mirror_info set last_seq = last_seq - 10', `update submissions set insured_name = null where ${submission}`)
    const before = await rig.state()
    const found = ['different mirror_info (last_seq)', 'different submissions (insured_name)']
    const fresh = (run: Awaited<ReturnType<typeof rig.reconcile>>) => findingTexts(run.findings.filter(({ known }) => !known))
    const dry = await rig.reconcile('--dry-run')
    expect({ code: dry.code, found: fresh(dry) }).toEqual({ code: 3, found })
    expect(await rig.state()).toEqual(before)
    const ended = await rig.reconcile()
    expect({ code: ended.code, err: ended.err, found: fresh(ended) }).toEqual({ code: 0, err: '', found })
    expect(ended.run).toMatchObject({ different: 2, repaired: 2, unreadable: 0 })
    expect((await logEnds(rig.db.read)).last_seq).toBe(last_seq + 1)
    expect(await changesAfter(rig.db.read, last_seq, 10)).toMatchObject([{ seq: last_seq + 1, entity: 'submissions' }])
    const next = await rig.reconcile()
    expect({ code: next.code, found: fresh(next) }).toEqual({ code: 0, found: [] })
  })

  it('is checked completely by a dry run too, with a wrong end', async () => {
    const fresh = await DamageRig.open(database)
    const { last_seq } = await logEnds(fresh.db.read)
    await fresh.damage(
      `delete from changes where seq in (2, ${last_seq - 2})`,
      `update mirror_info set first_seq = 4, last_seq = ${last_seq - 5}`,
    )
    const dry = await fresh.reconcile('--dry-run')
    const ended = await fresh.reconcile()
    const found = ['different mirror_info (first_seq, last_seq)', 'lost changes 2 2', `lost changes ${last_seq - 2} ${last_seq - 2}`]
    expect(findingTexts(ended.findings)).toEqual(found.sort())
    expect(findingTexts(dry.findings)).toEqual(findingTexts(ended.findings))
  })

  it('is checked by serve too', async () => {
    const serving = await RunRig.open(database, 1)
    await serving.reconcile()
    await serving.db.write('test', (tx) => tx.sql.deleteFrom('changes').where('seq', '=', 2).execute())
    const runId = await requestRun(serving.db, { account: ACCOUNT, options: {}, requestedBy: 'command' })
    const reconciler = serving.reconciler(null)
    await reconciler.startDueRuns(new AbortController().signal)
    await reconciler.idle()
    expect(findingTexts(await listFindings(serving.db.read, { runId }))).toEqual(['lost changes 2 2'])
  })
})
