import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../../src/model/entities/market-events.ts'
import { submissions } from '../../../src/model/entities/submissions.ts'
import { entities } from '../../../src/model/entities.ts'
import { readKinds } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { onSqlite } from '../../tools/databases.ts'
import { ACCOUNT, DamageRig, findingTexts } from './rig.ts'

describe.each(onSqlite)('an outdated mirror, or a service without answers, on $name', (database) => {
  it('updates outdated state and feeds', async () => {
    const rig = await DamageRig.open(database)
    const lane = rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.requirements.rail?.lanes[0]?.submission_market_id ?? ''
    rig.sandbox.patchLane(ACCOUNT, rig.rich, lane, { rail: { status: 'bound', status_label: 'Bound', bound: true, chip: 'bound' } })
    rig.sandbox.setFacts(ACCOUNT, rig.plain, { state: 'CA', marketing_status: 'matched' })
    const event = rig.sandbox.addEvent(ACCOUNT, rig.rich, { type: 'bound', lane_id: lane }, { quiet: true })
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({
      code: 0,
      found: [
        'moved application_workspaces',
        // The events contain the bind request of a bound lane, which leads to a policy with three documents.
        ...[1, 2].map(() => expect.stringMatching(/^moved bind_contingencies /)),
        ...['bind_requests', 'documents', 'documents', 'documents', 'facts', 'insureds'].map((table) =>
          expect.stringMatching(new RegExp(`^moved ${table} `)),
        ),
        `moved lanes ${lane}`,
        `moved market_events ${event.id}`,
        expect.stringMatching(/^moved market_readiness [0-9a-f]{64}$/),
        expect.stringMatching(/^moved policies /),
        ...['moved submissions', 'moved submissions'],
      ],
    })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('compares only the feeds without state', async () => {
    const rig = await DamageRig.open(database)
    rig.sandbox.setFacts(ACCOUNT, rig.plain, { state: 'CA' })
    await rig.damage(`delete from market_events where submission_id = '${rig.plain}'`)
    const ended = await rig.reconcile('--no-state')
    expect(findingTexts(ended.findings)).toEqual([expect.stringMatching(/^missing market_events /)])
    expect(await rig.differences()).toEqual(['submissions : state', expect.stringMatching(/^facts [0-9a-f]{64}: value$/)])
  })

  it.each([
    ['a feed', { kind: 'status', status: 500, operation: 'thread' }, 'thread', 'market_events'],
    ['a feed that alone is not found', { kind: 'status', status: 404, operation: 'events' }, 'events', 'thread_messages'],
    ['the state', { kind: 'html', operation: 'requirements' }, 'requirements', 'thread_messages'],
    ['a state that alone is not found', { kind: 'status', status: 404, operation: 'requirements' }, 'requirements', 'thread_messages'],
    ['a feed, by a cursor that stays the same', { kind: 'stuck_cursor', operation: 'events' }, 'events', 'thread_messages'],
    ['a feed without a confirmed end', { kind: 'no_next_cursor', operation: 'events' }, 'events', 'thread_messages'],
  ] as const)('reports unreadable data, exits 1, and continues with the rest: %s', async (_, fault, read, other) => {
    const rig = await DamageRig.open(database)
    rig.sandbox.faults.add({ ...fault, submissionId: rig.plain })
    await rig.damage(
      `delete from thread_attachments where submission_id = '${rig.rich}'`,
      `delete from ${other} where submission_id = '${rig.plain}'`,
    )
    const ended = await rig.reconcile()
    expect(ended.code).toBe(1)
    const names = findingTexts(ended.findings).map((text) => text.split(' ').slice(0, 2).join(' '))
    expect(names).toEqual([`missing ${other}`, ...Array(6).fill('missing thread_attachments'), `unreadable ${read}`].sort())
    expect(`${ended.out}${ended.err}`).toContain('could not be')
    expect(ended.run).toMatchObject({ unreadable: 1, missing: 7, repaired: 7, exit_code: 1 })
    rig.sandbox.faults.set([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('a submission with one missing read stays unreachable in each run', async () => {
    const rig = await DamageRig.open(database)
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'requirements', submissionId: rig.plain })
    const since = timeFromMs(0)
    await rig.damage(`update submissions set unreachable_since = '${since}' where submission_id = '${rig.plain}'`)
    const before = await rig.state()
    for (const _ of [1, 2])
      expect(findingTexts((await rig.reconcile()).findings)).toEqual([expect.stringMatching(/^unreadable requirements/)])
    expect(await rig.state()).toEqual(before)
  })

  it('a submission with one missing read stays unreachable, even if another read broke off after a repaired page', async () => {
    const rig = await DamageRig.open(database)
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'requirements', submissionId: rig.rich })
    rig.sandbox.faults.add({ kind: 'invalid_cursor', operation: 'events', submissionId: rig.rich })
    rig.sandbox.faults.add({ kind: 'status', status: 500, operation: 'thread', submissionId: rig.rich })
    const since = timeFromMs(0)
    await rig.damage(
      `update submissions set unreachable_since = '${since}' where submission_id = '${rig.rich}'`,
      `delete from market_events where event_id = (
        select event_id from market_events where submission_id = '${rig.rich}' order by occurred_at, event_id limit 1)`,
    )
    const { findings } = await rig.reconcile('--submission', rig.rich)
    expect(findingTexts(findings).sort()).toEqual([
      expect.stringMatching(/^missing market_events/),
      expect.stringMatching(/^unreadable events/),
      expect.stringMatching(/^unreadable requirements/),
      expect.stringMatching(/^unreadable thread/),
    ])
    const rows = (await rig.state())['submissions']
    expect(rows?.find((row) => row['submission_id'] === rig.rich)).toMatchObject({ unreachable_since: since })
  })

  it('trap 48: a missing submission is unreadable, and keeps its rows', async () => {
    const rig = await DamageRig.open(database)
    const before = await rig.state()
    rig.sandbox.world.removeSubmission(ACCOUNT, rig.plain)
    const ended = await rig.reconcile()
    expect(ended.code).toBe(1)
    expect(ended.findings.map(({ kind, submission_id }) => [kind, submission_id])).toContainEqual(['unreadable', rig.plain])
    const after = await rig.state()
    for (const table of ['market_events', 'thread_messages', 'lanes', 'quotes']) expect(after[table]).toEqual(before[table])
  })
})

describe.each(onSqlite)('damaged bookkeeping, on $name', (database) => {
  it.each([
    ['lost', 'null'],
    ['no cursor at all', "'null'"],
    [
      "another feed's",
      "(select cursor from sync_reads as other where other.submission_id = sync_reads.submission_id and other.read <> sync_reads.read and other.read in ('events', 'thread'))",
    ],
  ])('a cursor %s hides nothing', async (_, cursor) => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `update sync_reads set cursor = ${cursor} where read in ('events', 'thread')`,
      `delete from market_events where submission_id = '${rig.plain}'`,
      `delete from thread_messages where submission_id = '${rig.plain}'`,
    )
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({
      code: 0,
      found: [expect.stringMatching(/^missing market_events /), expect.stringMatching(/^missing thread_messages /)],
    })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('missing read rows are restored, and the submission is compared', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `delete from sync_reads where submission_id = '${rig.plain}'`,
      `delete from market_events where submission_id = '${rig.plain}'`,
      `update submissions set state = 'XX' where submission_id = '${rig.plain}'`,
    )
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: findingTexts(ended.findings) }).toEqual({
      code: 0,
      found: ['different submissions (state)', expect.stringMatching(/^missing market_events /)],
    })
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
    rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', '--all')
    expect(await rig.differences()).toEqual([])
  })

  it('a submission with rows in only one table is found', async () => {
    const rig = await DamageRig.open(database)
    const tables = [...entities.map(({ table }) => table), 'sync_reads', 'sync_reconciled']
    for (const left of ['quote_history', 'sync_reconciled']) {
      await rig.damage(
        ...tables.filter((table) => table !== left).map((table) => `delete from ${table} where submission_id = '${rig.rich}'`),
      )
      const ended = await rig.reconcile()
      expect(ended.code).toBe(0)
      expect(findingTexts(ended.findings)).toContain('missing submissions')
      expect(await rig.differences()).toEqual([])
    }
  })

  it('rows under a malformed id are reported, and not read', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      ...[submissions, marketEvents].map(({ table, columns }) => {
        const names = Object.keys(columns)
        const values = names.map((name) => (name === 'submission_id' ? 'upper(submission_id)' : name))
        return `insert into ${table} (${names.join(', ')}) select ${values.join(', ')} from ${table} where submission_id = '${rig.plain}'`
      }),
    )
    const before = await rig.state()
    const dry = await rig.reconcile('--dry-run')
    const ended = await rig.reconcile()
    for (const { code, run, findings } of [dry, ended]) {
      expect({ code, found: findingTexts(findings) }).toEqual({ code: 3, found: ['absent submissions'] })
      expect(run).toMatchObject({ absent: 1, repaired: 0, known: 0 })
    }
    expect(ended.findings[0]?.detail).toContain('delete its rows')
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { absent: 0, known: 1 } })
    expect(await rig.state()).toEqual(before)
    await rig.damage(...[submissions, marketEvents].map(({ table }) => `delete from ${table} where submission_id <> lower(submission_id)`))
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
    expect(await rig.db.read.sql.selectFrom('sync_reads').select('read').execute()).toHaveLength(2 * readKinds.length)
  })

  it('a submission without its row is found by its other rows and by its id', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(`delete from submissions where submission_id = '${rig.plain}'`)
    expect(await rig.reconcile('--submission', rig.plain, '--dry-run')).toMatchObject({ code: 3, run: { missing: 1 } })
    const ended = await rig.reconcile()
    expect(ended.code).toBe(0)
    expect(findingTexts(ended.findings)).toContain('missing submissions')
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })
})
