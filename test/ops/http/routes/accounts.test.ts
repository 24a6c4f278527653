import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../../src/model/time.ts'
import { stopAccount } from '../../../../src/store/reads/accounts.ts'
import { LastUses } from '../../../../src/store/reads/last-uses.ts'
import { recordHeartbeat } from '../../../../src/store/upkeep/processes.ts'
import { json, runHere } from '../../../app/run.ts'
import { silentLog, testDatabases } from '../../../tools/databases.ts'
import { adminRigForEach, refusal } from '../rig.ts'

const ONE = 'bbbbbbbb-0000-4000-8000-000000000001'
const TWO = 'bbbbbbbb-0000-4000-8000-000000000002'

const untrackedText = (id: string, account: string) =>
  `${id} is not tracked in account ${account}. Track it with \`submission-mirror track ${id} --account ${account}\``

describe.each(testDatabases)('accounts and submissions by the admin routes, on $name', (database) => {
  const rig = adminRigForEach(database)

  it('lists the accounts as the command does', async () => {
    await stopAccount(rig.db, 'default', 'suspended', 'the service rejects its credentials', 60_000)
    const answer = await rig.ask<{ items: unknown[] }>('GET', '/accounts')
    expect(answer.json).toEqual(json(await runHere(['account', 'list', '--json'], rig.env)))
    expect(answer.json.items).toMatchObject([{ account: 'default', state: 'suspended', reason: 'the service rejects its credentials' }])
  })

  it('shows when each credential last got a token', async () => {
    for (const ms of [2_000, 3_000, 1_000]) {
      const uses = new LastUses(rig.db, silentLog)
      uses.note('credential', 'default', 'bac_1', ms)
      uses.note('credential', 'default', 'bac_removed', 4_000)
      await uses.write()
    }
    const answer = await rig.ask<{ items: unknown[] }>('GET', '/accounts')
    const credentials = [{ client_id: 'bac_1', is_in_use: false, last_token_at: timeFromMs(3_000) }]
    expect(answer.json.items).toMatchObject([{ account: 'default', credentials }])
    expect((await runHere(['account', 'list'], rig.env)).out).toMatch(/bac_1: \d+ (d|days?|y|years?)\b.* ago/)
  })

  it('resumes a stopped account, and shows whether a process retries now', async () => {
    const resume = (name: string) => rig.ask('POST', `/accounts/${name}/resume`)
    expect((await resume('default')).json).toEqual({ account: 'default', was: 'active', reason: null, resumed: false, at_once: false })
    expect(await rig.notes()).toEqual([])
    await stopAccount(rig.db, 'default', 'paused', 'another brokerage answers', 3_600_000)
    expect((await resume('default')).json).toMatchObject({ account: 'default', was: 'paused', resumed: true, at_once: false })
    await recordHeartbeat(rig.db, { id: 'p1', role: 'all', version: '1' })
    expect((await resume('default')).json).toMatchObject({ resumed: true, at_once: true })
    const [row] = await rig.db.read.sql.selectFrom('sync_accounts').selectAll().execute()
    expect(Date.parse(row?.retry_at ?? '')).toBeLessThanOrEqual(Date.now())
    expect((await runHere(['account', 'resume', 'default'], rig.env)).code).toBe(0)
    const note = { action: 'account.resume', target: 'default', detail: { was: 'paused' }, outcome: 'done' }
    expect(await rig.notes()).toEqual([
      { who: 'alice', ...note },
      { who: 'alice', ...note },
      { who: 'command', ...note },
    ])
    expect(await resume('other')).toMatchObject(refusal(404, 'unknown account "other"; known: default'))
  })

  it('does not resume an account that is not served', async () => {
    rig.config = { ...rig.config, accounts: rig.config.accounts.map((account) => ({ ...account, name: 'new' })) }
    for (const [name, problem] of [
      ['default', /^account default is not in the settings/],
      ['new', /^account new has never been served/],
    ] as const)
      expect(await rig.ask('POST', `/accounts/${name}/resume`)).toMatchObject(refusal(409, expect.stringMatching(problem)))
  })

  it('tracks submissions once, and records who did', async () => {
    const track = (body: unknown) => rig.ask('POST', '/submissions/track', { body })
    expect(await track({ ids: [ONE, ONE.toUpperCase()] })).toMatchObject({ status: 200, json: { account: 'default', added: 1, known: 0 } })
    expect(await track({ ids: [ONE, TWO], account: 'default' })).toMatchObject({ json: { added: 1, known: 1 } })
    const rows = await rig.db.read.sql.selectFrom('submissions').select(['submission_id', 'tracked_via']).orderBy('submission_id').execute()
    expect(rows).toEqual([
      { submission_id: ONE, tracked_via: 'command' },
      { submission_id: TWO, tracked_via: 'command' },
    ])
    expect(await track({ ids: [ONE], account: 'other' })).toMatchObject(
      refusal(422, 'account: the settings have no account "other"; known: default'),
    )
    expect((await track({ ids: [] })).status).toBe(400)
    expect((await runHere(['track', ONE], rig.env)).out).toBe('0 new submissions tracked in account default; 1 already tracked\n')
    const note = { action: 'submission.track', target: 'default', outcome: 'done' }
    expect(await rig.notes()).toEqual([
      { who: 'alice', ...note, detail: { ids: [ONE], count: 1, added: 1 } },
      { who: 'alice', ...note, detail: { ids: [ONE, TWO], count: 2, added: 1 } },
      { who: 'command', ...note, detail: { ids: [ONE], count: 1, added: 0 } },
    ])
  })

  it('explains how to track an untracked submission', async () => {
    const body = { ids: [ONE], account: 'default' }
    expect((await rig.ask('POST', '/submissions/sync', { body })).json).toMatchObject({ detail: untrackedText(ONE, 'default') })
    const ended = await runHere(['reconcile', '--account', 'default', '--submission', ONE], rig.env)
    expect(ended).toMatchObject({ code: 2, out: '', err: `${untrackedText(ONE, 'default')}\n` })
    const anyAccount = await runHere(['reconcile', '--submission', ONE], rig.env)
    expect(anyAccount.err).toBe(`${ONE} is not tracked in any account. Track it with \`submission-mirror track ${ONE} --account NAME\`\n`)
  })

  it('requests full reads of submissions now, except of failed reads', async () => {
    await rig.ask('POST', '/submissions/track', { body: { ids: [ONE, TWO] } })
    const later = '2999-01-01T00:00:00.000000Z'
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ due_at: later, full_read_due_at: later, rank: 1 }).execute())
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ failures: 3 }).where('read', '=', 'thread').execute())
    const sync = (body: unknown) => rig.ask('POST', '/submissions/sync', { body })
    expect(await sync({ ids: [ONE, ONE] })).toMatchObject({ status: 200, json: { account: 'default', submissions: 1 } })
    const due = async (id: string) => {
      const query = rig.db.read.sql.selectFrom('sync_reads').select(['read', 'due_at', 'full_read_due_at', 'request_no'])
      const rows = await query.where('submission_id', '=', id).orderBy('read').execute()
      return rows.map((row) => [row.read, (row.due_at ?? '') < later, (row.full_read_due_at ?? '') < later, row.request_no])
    }
    const reads = ['events', 'outstanding', 'requirements', 'sessions', 'thread', 'workspace']
    expect(await due(ONE)).toEqual(reads.map((read) => [read, read !== 'thread', true, 1]))
    expect(await due(TWO)).toEqual(reads.map((read) => [read, false, false, 0]))
    const three = 'bbbbbbbb-0000-4000-8000-000000000003'
    expect(await sync({ ids: [ONE, three] })).toMatchObject({ status: 404, json: { detail: untrackedText(three, 'default') } })
    expect((await rig.notes()).slice(1)).toEqual([
      { who: 'alice', action: 'submission.sync', target: 'default', detail: { ids: [ONE], count: 1 }, outcome: 'done' },
    ])
  })
})
