import { describe, expect, it } from 'vitest'
import { bindAssumptions } from '../../src/model/entities/bind-assumptions.ts'
import { bindContingencies } from '../../src/model/entities/bind-contingencies.ts'
import { bindRequests } from '../../src/model/entities/bind-requests.ts'
import { insureds } from '../../src/model/entities/insureds.ts'
import { policies } from '../../src/model/entities/policies.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { testDatabases } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { DAY, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

describe.each(testDatabases)('reads by id, on $name', (database) => {
  async function bound() {
    const rig = await Rig.open(database)
    const { id, lane } = rig.addBound(ACCOUNT)
    await rig.track([id])
    rig.startPoller()
    rig.startIdReads()
    const { insured_id } = rig.sandbox.truth(ACCOUNT, id)[0]?.policies[0] ?? {}
    await rig.until('its insured is read', async () => (await rowsOf(rig.db, insureds)).length > 0)
    return { rig, id, lane, insured_id }
  }
  const knownIds = (rig: Rig) => rig.db.read.sql.selectFrom('known_ids').selectAll().orderBy('kind').execute()

  it('trap 23: ids in answers are learned and read', async () => {
    const { rig, id, insured_id } = await bound()
    const [shown] = rig.sandbox.truth(ACCOUNT, id)
    const [bind] = await rowsOf(rig.db, bindRequests)
    const request = shown?.bind_requests[0]
    expect(bind).toMatchObject({ submission_id: id, status: 'bound', policy_id: request?.['policy_id'], gone_at: null })
    expect((await rowsOf(rig.db, bindContingencies)).map(({ status }) => status).sort()).toEqual(['satisfied', 'waived'])
    expect(await rowsOf(rig.db, policies)).toMatchObject([{ policy_id: request?.['policy_id'], submission_id: id, gone_at: null }])
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ submission_id: id, insured_id }])
    expect((await knownIds(rig)).map(({ kind, via, submission_id }) => [kind, via, submission_id])).toEqual([
      ['bind_request', 'requirements', id],
      ...Array.from({ length: 3 }, () => ['document', 'policy', id]),
      ['insured', 'policy', id],
      ['policy', 'bind_request', id],
    ])
  })

  it.each(['submission_id', 'id'])('trap 20: submissions in an insured (%s) are tracked', async (field) => {
    const rig = await Rig.open(database, {
      sandbox: { unshown: { insured_submission_id_field: field, policy_submission_id: field === 'id' ? 'absent' : 'shown' } },
    })
    const facts = { facts: { insured_name: 'Acme Bakery LLC' } }
    const [id, other] = [rig.sandbox.addSubmission(ACCOUNT, facts), rig.sandbox.addSubmission(ACCOUNT, facts)]
    rig.bind(ACCOUNT, id)
    await rig.track([id])
    rig.startPoller()
    rig.startIdReads()
    await rig.until('the other is tracked', async () => (await rowsOf(rig.db, submissions)).length === 2)
    const rows = await rowsOf(rig.db, submissions)
    expect(rows.find(({ submission_id }) => submission_id === other)).toMatchObject({ tracked_via: 'insured' })
    await rig.until('it is read', async () => (await rig.read(other, 'events')).last_read_at !== null)
  })

  it('a policy without a submission belongs to that of its bind request', async () => {
    const rig = await Rig.open(database, { sandbox: { unshown: { policy_submission_id: 'absent' } } })
    const bound = ['first', 'second'].map(() => {
      const { id } = rig.addBound(ACCOUNT, { facts: { insured_name: 'Acme Bakery LLC' } })
      return { id, policy: rig.sandbox.truth(ACCOUNT, id)[0]?.policies[0]?.['policy_id'] as string }
    })
    await rig.track(bound.slice(0, 1).map(({ id }) => id))
    rig.startPoller()
    rig.startIdReads()
    const rows = () => rowsOf(rig.db, policies)
    await rig.until('both are read, with their submissions', async () => {
      const named = (await rows()).filter(({ submission_id }) => submission_id !== null)
      return named.length === 2
    })
    const submissionOf = new Map((await rows()).map(({ policy_id, submission_id }) => [policy_id, submission_id]))
    expect(bound.map(({ policy }) => submissionOf.get(policy))).toEqual(bound.map(({ id }) => id))
  })

  it('trap 70: an assumption keeps its value, and raw distinguishes absent from null', async () => {
    const { rig, id, lane } = await bound()
    rig.sandbox.patchLane(ACCOUNT, id, lane, { rail: { chip: 'quoted' } })
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'status_changed', lane_id: lane })
    await rig.pass(8 * DAY)
    await rig.until('they are read', async () => (await rowsOf(rig.db, bindAssumptions)).length > 0)
    const rows = (await rowsOf(rig.db, bindAssumptions)).sort((a, b) => Number(a['position']) - Number(b['position']))
    expect(rows.map(({ key, value, position }) => [key, value, position])).toEqual([
      ['years_in_business', 12, 0],
      ['prior_losses', null, 1],
      ['inspected', null, 2],
    ])
    expect(rows.map(({ raw }) => String(raw).includes('"value"'))).toEqual([true, true, false])
  })

  it('trap 79: a new policy that is not found is retried, without a failure', async () => {
    const rig = await Rig.open(database)
    const { id } = rig.addBound(ACCOUNT)
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'policy', count: 4 })
    await rig.track([id])
    rig.startPoller()
    rig.startIdReads()
    const error = async () => (await knownIds(rig)).find(({ kind }) => kind === 'policy')?.error ?? null
    await rig.until('it is not found', async () => (await error()) !== null)
    expect(await rowsOf(rig.db, policies)).toEqual([])
    for (let tries = 1; (await rowsOf(rig.db, policies)).length === 0; tries += 1) {
      expect(tries).toBeLessThan(8)
      const before = rig.asked('policy').length
      await rig.pass(DAY)
      await rig.until('it is asked for', async () => rig.asked('policy').length > before && (await rig.isFree()))
    }
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ unreachable_since: null }])
  })

  it('a record not found three times is gone, leaves its submission untouched, and can come back', async () => {
    const { rig, id } = await bound()
    const reachable = { unreachable_since: null }
    for (const operation of ['bind_request', 'policy', 'insured'] as const)
      rig.sandbox.faults.add({ kind: 'status', status: 404, operation })
    const gone = async () => {
      const rows = [...(await rowsOf(rig.db, bindRequests)), ...(await rowsOf(rig.db, policies)), ...(await rowsOf(rig.db, insureds))]
      return rows.filter(({ gone_at }) => gone_at !== null).length
    }
    for (const [tries, expected] of [0, 0, 3].entries()) {
      await rig.pass(8 * DAY)
      await rig.until(
        'each is asked for',
        async () => (await missesOf(rig)).every((not_found) => not_found > tries) && (await rig.isFree()),
      )
      expect(await gone()).toBe(expected)
    }
    expect((await rowsOf(rig.db, bindContingencies)).every(({ gone_at }) => gone_at !== null)).toBe(true)
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ submission_id: id, ...reachable }])
    rig.sandbox.faults.set([])
    await rig.pass(8 * DAY)
    await rig.until('they are back', async () => (await gone()) === 0)
  })

  it('trap 60: a bind request may go back from bound, and an unknown status is kept', async () => {
    const { rig, id, lane } = await bound()
    rig.sandbox.patchLane(ACCOUNT, id, lane, { rail: { chip: 'quoted', bound: false, quotes: [] } })
    rig.sandbox.patchLane(ACCOUNT, id, lane, { rail: { bound: true } })
    await rig.pass(8 * DAY)
    await rig.until('it is read again', async () => rig.asked('bind_request').length > 1 && (await rig.isFree()))
    expect(await rowsOf(rig.db, bindRequests)).toMatchObject([{ status: 'bound' }])
  })

  async function missesOf(rig: Rig): Promise<number[]> {
    const query = rig.db.read.sql.selectFrom('sync_reads').select('not_found').where('id', '<>', '').where('read', '<>', 'document')
    return (await query.execute()).map(({ not_found }) => Number(not_found))
  }
})
