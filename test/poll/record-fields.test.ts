import { describe, expect, it } from 'vitest'
import { insureds } from '../../src/model/entities/insureds.ts'
import { policies } from '../../src/model/entities/policies.ts'
import type { Row } from '../../src/model/entity.ts'
import type { RecordFields } from '../../src/model/record-fields.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { DAY, Rig } from '../tools/poller.ts'
import { defaultRecordFields } from '../tools/record-fields.ts'

const ACCOUNT = 'default'

describe.each(onSqlite)('columns of policies and insureds, on $name', (database) => {
  async function bound() {
    const rig = await Rig.open(database)
    const { id } = rig.addBound(ACCOUNT, { facts: { insured_name: 'Acme Bakery LLC', effective_date: '2026-03-01' } })
    await rig.track([id])
    rig.startPoller()
    const reads = rig.startIdReads()
    await rig.until('its insured is read', async () => (await rowsOf(rig.db, insureds)).length > 0)
    await rig.until('nothing is under way', () => rig.isFree())
    const [shown] = rig.sandbox.truth(ACCOUNT, id)[0]?.policies ?? []
    if (shown === undefined) throw new Error('there is no policy')
    return { rig, id, reads, shown }
  }

  async function readAgain(rig: Rig, recordFields: RecordFields): Promise<void> {
    const reads = rig.startIdReads(recordFields)
    const [policiesBefore, insuredsBefore] = [rig.asked('policy').length, rig.asked('insured').length]
    await rig.pass(8 * DAY)
    const isAsked = () => rig.asked('policy').length > policiesBefore && rig.asked('insured').length > insuredsBefore
    await rig.until('both are read again', async () => isAsked() && (await rig.isFree()))
    await reads.stop()
  }

  it('the defaults find all fields of the sandbox', async () => {
    const { rig, shown } = await bound()
    const { policy_number, carrier, term, premium, commission } = shown
    expect(await rowsOf(rig.db, policies)).toMatchObject([
      {
        policy_number,
        carrier_name: (carrier as Row)['name'],
        ...(term as Row),
        total_billed_cents: (premium as Row)['total_billed_cents'],
        commission_cents: (commission as Row)['amount_cents'],
      },
    ])
    expect(policy_number).toMatch(/^POL-/)
    expect(await rowsOf(rig.db, insureds)).toMatchObject([{ legal_name: 'Acme Bakery LLC', dba_name: null }])
  })

  it('rows follow new paths at the next read, even of equal records; an equal result writes nothing', async () => {
    const { rig, id, reads, shown } = await bound()
    await reads.stop()
    const before = (await changesOf(rig.db)).at(-1)?.seq
    await readAgain(rig, defaultRecordFields)
    const ofThese = async () => (await changesOf(rig.db, before)).filter(({ entity }) => ['policies', 'insureds'].includes(entity))
    expect(await ofThese()).toEqual([])

    const changed: RecordFields = {
      policies: { ...defaultRecordFields.policies, policy_number: ['status'], carrier_name: ['underwriting_paper.name'] },
      insureds: { ...defaultRecordFields.insureds, legal_name: [], dba_name: ['name'] },
    }
    await readAgain(rig, changed)
    const carrier_name = (shown['underwriting_paper'] as Row)['name'] ?? null
    const [policy, insured] = [
      { policy_number: 'in_force', carrier_name },
      { legal_name: null, dba_name: 'Acme Bakery LLC' },
    ]
    expect(await rowsOf(rig.db, policies)).toMatchObject([policy])
    expect(await rowsOf(rig.db, insureds)).toMatchObject([insured])
    const logged = await ofThese()
    expect(
      logged.map(({ entity, submission_id, operation, after }) => ({ entity, submission_id, operation, after })).sort(byEntity),
    ).toEqual([
      { entity: 'insureds', submission_id: id, operation: 'update', after: insured },
      { entity: 'policies', submission_id: id, operation: 'update', after: policy },
    ])

    await readAgain(rig, changed)
    expect(await ofThese()).toEqual(logged)
  })
})

function byEntity(a: { readonly entity: string }, b: { readonly entity: string }): number {
  return a.entity < b.entity ? -1 : 1
}
