import { describe, expect, it, vi } from 'vitest'
import { bindRequests } from '../../src/model/entities/bind-requests.ts'
import { beginPurge } from '../../src/store/mirror/purge.ts'
import { findAccount } from '../../src/store/reads/accounts.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { DAY, Rig } from '../tools/poller.ts'
import { WakingClock } from '../tools/waking-clock.ts'

const ACCOUNT = 'default'
const DETAIL = { name: 'detail', path: '/broker/submissions/{submission_id}', everyMs: DAY }
const LIST = { name: 'list', path: '/broker/submissions', everyMs: DAY }

describe.each(onSqlite)('extra reads on $name', (database) => {
  const answers = (rig: Rig) => rig.db.read.sql.selectFrom('extra_reads').selectAll().orderBy('name').orderBy('submission_id').execute()
  const schedule = (rig: Rig) => rig.db.read.sql.selectFrom('sync_path_reads').selectAll().orderBy('name').execute()
  const made = (rig: Rig) =>
    rig.until('each was tried', async () =>
      (await schedule(rig)).every((row) => row.lease_token === null && (row.last_read_at ?? row.error) !== null),
    )

  async function open(stateReads?: readonly string[]) {
    const rig = await Rig.open(database, { sandbox: { lists: true }, ...(stateReads && { stateReads }) })
    const { id } = rig.addBound(ACCOUNT)
    await rig.track([id])
    rig.startPoller()
    await rig.until('the brokerage is pinned', async () => (await findAccount(rig.db.read, ACCOUNT))?.brokerage != null)
    return { rig, id }
  }

  it('trap 19, trap 21, trap 23, trap 57: store whole answers and learn their ids', async () => {
    const { rig, id } = await open()
    rig.startIdReads()
    await rig.rest()
    const before = (await changesOf(rig.db)).length
    rig.startExtraReads([DETAIL, LIST])
    await rig.until('both are kept', async () => (await answers(rig)).length === 2)
    const [detail, list] = await answers(rig)
    expect(detail).toMatchObject({ account: ACCOUNT, submission_id: id, name: 'detail' })
    expect(JSON.parse(String(detail?.raw))).toMatchObject({ submission_id: id, insured_name: expect.any(String) })
    expect(list).toMatchObject({ submission_id: '', name: 'list' })
    await rig.until('its bind request is read', async () => (await rowsOf(rig.db, bindRequests)).length > 0)
    const named = await rig.db.read.sql.selectFrom('known_ids').select(['kind', 'via']).execute()
    expect(named.map(({ kind }) => kind).sort()).toEqual(expect.arrayContaining(['bind_request', 'insured', 'policy']))
    expect((await changesOf(rig.db)).slice(before).map(({ entity }) => String(entity))).not.toContain('extra_reads')
  })

  it('trap 75: store no tax id', async () => {
    const { rig } = await open()
    rig.startExtraReads([DETAIL])
    await rig.until('it is kept', async () => (await answers(rig)).length === 1)
    expect(String((await answers(rig))[0]?.raw)).toContain('[protected]')
    expect(String((await answers(rig))[0]?.raw)).not.toMatch(/\d\d-\d{7}"/)
  })

  it('are repeated, reach new submissions, and end with a purged one', async () => {
    const { rig, id } = await open()
    const running = rig.startExtraReads([DETAIL])
    await rig.until('it is kept', async () => (await answers(rig)).length === 1)
    await running.stop()
    const second = rig.sandbox.addSubmission(ACCOUNT)
    await rig.track([second])
    await rig.pass(2 * DAY)
    rig.startExtraReads([DETAIL])
    await rig.until('both are kept', async () => (await answers(rig)).length === 2)
    await made(rig)
    expect(rig.sandbox.activity.requests.filter(({ operation }) => operation === 'extra')).toHaveLength(3)
    await beginPurge(rig.db, { account: ACCOUNT, submissionId: id })
    expect((await answers(rig)).map(({ submission_id }) => submission_id)).toEqual([second])
    expect((await schedule(rig)).map(({ submission_id }) => submission_id)).toEqual([second])
  })

  it('trap 49: all wait during a pause of the service', async () => {
    const { rig } = await open()
    await rig.track([rig.sandbox.addSubmission(ACCOUNT)])
    const seen = () => rig.sandbox.activity.requests.filter(({ operation }) => operation === 'extra').length
    rig.sandbox.faults.add({ kind: 'status', status: 429, operation: 'extra', retryAfterSeconds: 7_200, count: 1 })
    const clock = new WakingClock()
    const sleep = vi.spyOn(clock, 'sleep')
    const hasRested = () => sleep.mock.calls.some(([ms]) => ms >= 1_000)
    rig.startExtraReads([DETAIL], { clock })
    await rig.until('one was tried', () => seen() > 0 && (hasRested() || seen() > 1))
    expect(seen()).toBe(1)
    await rig.pass(DAY / 12)
    clock.wake({ passedMs: DAY / 12 })
    await rig.until('both are kept', async () => (await answers(rig)).length === 2)
  })

  it('are retried soon after a refused token', async () => {
    const { rig } = await open()
    rig.sandbox.faults.add({ kind: 'status', status: 401, operation: 'extra', count: 1 })
    rig.startExtraReads([DETAIL])
    await rig.until('it was refused', async () => (await schedule(rig)).some((row) => row.error !== null))
    await rig.pass(DAY / 24)
    await rig.until('it is kept', async () => (await answers(rig)).length === 1)
  })

  it('that are refused affect nothing else, with one warning', async () => {
    const { rig, id } = await open()
    rig.startExtraReads([DETAIL, { name: 'wrong', path: '/broker/nothing/{submission_id}', everyMs: DAY }])
    await rig.until('one is kept', async () => (await answers(rig)).length === 1)
    await made(rig)
    await rig.until('it is logged', () => rig.lines('the extra read wrong').length === 1)
    expect((await findAccount(rig.db.read, ACCOUNT))?.state).toBe('active')
    expect((await rig.read(id, 'requirements')).not_found).toBe(0)
    expect((await schedule(rig)).map(({ name, failures }) => [name, Number(failures)])).toEqual([
      ['detail', 0],
      ['wrong', 1],
    ])
  })
})
