import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../../src/model/entities/market-events.ts'
import { submissions } from '../../../src/model/entities/submissions.ts'
import { entities } from '../../../src/model/entities.ts'
import { readKinds } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { onSqlite } from '../../tools/databases.ts'
import { ACCOUNT, DamageRig, told } from './rig.ts'

describe.each(onSqlite)('a mirror that lags behind, or a service that does not answer, on $name', (database) => {
  it('state that grew old is brought up to date, feeds with it', async () => {
    const rig = await DamageRig.open(database)
    const lane = rig.sandbox.truth(ACCOUNT, rig.rich)[0]?.requirements.rail?.lanes[0]?.submission_market_id ?? ''
    rig.sandbox.patchLane(ACCOUNT, rig.rich, lane, { rail: { status: 'bound', status_label: 'Bound', bound: true, chip: 'bound' } })
    rig.sandbox.setFacts(ACCOUNT, rig.plain, { state: 'CA', marketing_status: 'matched' })
    const event = rig.sandbox.addEvent(ACCOUNT, rig.rich, { type: 'bound', lane_id: lane }, { quiet: true })
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: told(ended.findings) }).toEqual({
      code: 0,
      found: [
        'moved application_workspaces',
        // The events name the bind request of a lane that is bound, which names the others: a policy has three documents.
        ...[1, 2].map(() => expect.stringMatching(/^moved bind_contingencies /)),
        ...['bind_requests', 'documents', 'documents', 'documents', 'facts', 'insureds'].map((table) =>
          expect.stringMatching(new RegExp(`^moved ${table} `)),
        ),
        `moved lanes ${lane}`,
        `moved market_events ${event.id}`,
        expect.stringMatching(/^moved market_readiness [0-9a-f]{64}$/),
        expect.stringMatching(/^moved policies /),
        // The whole view in `raw` shows the lane, too.
        ...['moved submissions', 'moved submissions'],
      ],
    })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('without state only the feeds are compared', async () => {
    const rig = await DamageRig.open(database)
    rig.sandbox.setFacts(ACCOUNT, rig.plain, { state: 'CA' })
    await rig.damage(`delete from market_events where submission_id = '${rig.plain}'`)
    const ended = await rig.reconcile('--no-state')
    expect(told(ended.findings)).toEqual([expect.stringMatching(/^missing market_events /)])
    expect(await rig.differences()).toEqual(['submissions : state', expect.stringMatching(/^facts [0-9a-f]{64}: value$/)])
  })

  it.each([
    ['a feed', { kind: 'status', status: 500, operation: 'thread' }, 'thread', 'market_events'],
    ['a feed that alone is not found', { kind: 'status', status: 404, operation: 'events' }, 'events', 'thread_messages'],
    ['the state', { kind: 'html', operation: 'requirements' }, 'requirements', 'thread_messages'],
    ['a state that alone is not found', { kind: 'status', status: 404, operation: 'requirements' }, 'requirements', 'thread_messages'],
    ['a feed, by a cursor that stands still', { kind: 'stuck_cursor', operation: 'events' }, 'events', 'thread_messages'],
    ['a feed whose end is not told', { kind: 'no_next_cursor', operation: 'events' }, 'events', 'thread_messages'],
  ] as const)('what cannot be read is said, exits 1, and holds up nothing else: %s', async (_, fault, read, other) => {
    const rig = await DamageRig.open(database)
    rig.sandbox.faults.add({ ...fault, submissionId: rig.plain })
    await rig.damage(
      `delete from thread_attachments where submission_id = '${rig.rich}'`,
      `delete from ${other} where submission_id = '${rig.plain}'`,
    )
    const ended = await rig.reconcile()
    expect(ended.code).toBe(1)
    const names = told(ended.findings).map((text) => text.split(' ').slice(0, 2).join(' '))
    expect(names).toEqual([`missing ${other}`, ...Array(6).fill('missing thread_attachments'), `unreadable ${read}`].sort())
    expect(`${ended.out}${ended.err}`).toContain('could not be')
    expect(ended.run).toMatchObject({ unreadable: 1, missing: 7, repaired: 7, exit_code: 1 })
    rig.sandbox.faults.set([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('a submission of which one read is not found stays marked as unreachable, run after run', async () => {
    const rig = await DamageRig.open(database)
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'requirements', submissionId: rig.plain })
    const since = timeFromMs(0)
    await rig.damage(`update submissions set unreachable_since = '${since}' where submission_id = '${rig.plain}'`)
    const before = await rig.state()
    for (const _ of [1, 2]) expect(told((await rig.reconcile()).findings)).toEqual([expect.stringMatching(/^unreadable requirements/)])
    expect(await rig.state()).toEqual(before)
  })

  it('a submission of which one read is not found stays marked, though another broke off behind a page that was put right', async () => {
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
    expect(told(findings).sort()).toEqual([
      expect.stringMatching(/^missing market_events/),
      expect.stringMatching(/^unreadable events/),
      expect.stringMatching(/^unreadable requirements/),
      expect.stringMatching(/^unreadable thread/),
    ])
    const rows = (await rig.state())['submissions']
    expect(rows?.find((row) => row['submission_id'] === rig.rich)).toMatchObject({ unreachable_since: since })
  })

  it('trap 48: a submission that the service does not find is unreadable, and loses nothing', async () => {
    const rig = await DamageRig.open(database)
    const before = await rig.state()
    rig.sandbox.removeSubmission(ACCOUNT, rig.plain)
    const ended = await rig.reconcile()
    expect(ended.code).toBe(1)
    expect(ended.findings.map(({ kind, submission_id }) => [kind, submission_id])).toContainEqual(['unreadable', rig.plain])
    const after = await rig.state()
    for (const table of ['market_events', 'thread_messages', 'lanes', 'quotes']) expect(after[table]).toEqual(before[table])
  })
})

describe.each(onSqlite)('damage to how the mirror is kept, on $name', (database) => {
  it.each([
    ['lost', 'null'],
    ['no cursor at all', "'null'"],
    [
      "another feed's",
      "(select cursor from sync_reads as other where other.submission_id = sync_reads.submission_id and other.read <> sync_reads.read and other.read in ('events', 'thread'))",
    ],
  ])('a cursor that is %s hides nothing', async (_, cursor) => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `update sync_reads set cursor = ${cursor} where read in ('events', 'thread')`,
      `delete from market_events where submission_id = '${rig.plain}'`,
      `delete from thread_messages where submission_id = '${rig.plain}'`,
    )
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: told(ended.findings) }).toEqual({
      code: 0,
      found: [expect.stringMatching(/^missing market_events /), expect.stringMatching(/^missing thread_messages /)],
    })
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })

  it('a timetable without rows is made again, and the submission is compared all the same', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(
      `delete from sync_reads where submission_id = '${rig.plain}'`,
      `delete from market_events where submission_id = '${rig.plain}'`,
      `update submissions set state = 'XX' where submission_id = '${rig.plain}'`,
    )
    const ended = await rig.reconcile()
    expect({ code: ended.code, found: told(ended.findings) }).toEqual({
      code: 0,
      found: ['different submissions (state)', expect.stringMatching(/^missing market_events /)],
    })
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
    rig.sandbox.addEvent(ACCOUNT, rig.plain, { type: 'status_changed' }, { quiet: true })
    await rig.command('sync', '--all')
    expect(await rig.differences()).toEqual([])
  })

  it('a submission of which nothing is left but rows of one table is found by them', async () => {
    const rig = await DamageRig.open(database)
    const tables = [...entities.map(({ table }) => table), 'sync_reads', 'sync_proofs']
    for (const left of ['quote_history', 'sync_proofs']) {
      await rig.damage(
        ...tables.filter((table) => table !== left).map((table) => `delete from ${table} where submission_id = '${rig.rich}'`),
      )
      const ended = await rig.reconcile()
      expect(ended.code).toBe(0)
      expect(told(ended.findings)).toContain('missing submissions')
      expect(await rig.differences()).toEqual([])
    }
  })

  it('rows under an id that the service does not write so are told of, and nothing is read into them', async () => {
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
      expect({ code, found: told(findings) }).toEqual({ code: 3, found: ['absent submissions'] })
      expect(run).toMatchObject({ absent: 1, repaired: 0, known: 0 })
    }
    expect(ended.findings[0]?.detail).toContain('delete its rows')
    expect(await rig.reconcile()).toMatchObject({ code: 0, run: { absent: 0, known: 1 } })
    expect(await rig.state()).toEqual(before)
    await rig.damage(...[submissions, marketEvents].map(({ table }) => `delete from ${table} where submission_id <> lower(submission_id)`))
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
    expect(await rig.db.read.sql.selectFrom('sync_reads').select('read').execute()).toHaveLength(2 * readKinds.length)
  })

  it('a submission without its row is found by what else is known of it, by its id too', async () => {
    const rig = await DamageRig.open(database)
    await rig.damage(`delete from submissions where submission_id = '${rig.plain}'`)
    expect(await rig.reconcile('--submission', rig.plain, '--dry-run')).toMatchObject({ code: 3, run: { missing: 1 } })
    const ended = await rig.reconcile()
    expect(ended.code).toBe(0)
    expect(told(ended.findings)).toContain('missing submissions')
    expect(await rig.differences()).toEqual([])
    expect(await rig.reconcile()).toMatchObject({ code: 0, findings: [] })
  })
})
