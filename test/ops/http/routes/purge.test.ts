import { describe, expect, it } from 'vitest'
import { submissions } from '../../../../src/model/entities/submissions.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../../../tools/mirror.ts'
import { trackFact } from '../../../tools/observations.ts'
import { adminRigForEach } from '../rig.ts'

describe.each(testDatabases)('POST /submissions/purge on $name', (database) => {
  const rig = adminRigForEach(database)

  const left = async () => (await rowsOf(rig.db, submissions)).map(({ submission_id }) => submission_id).sort()

  it('deletes submissions, lists them, and records it', async () => {
    const [first = '', second = '', unknown = ''] = Array.from({ length: 3 }, () => crypto.randomUUID())
    await applyAll(rig.db, [trackFact('default', first), trackFact('default', second)])
    const dry = await rig.ask('POST', '/submissions/purge', { body: { ids: [first, unknown], dry_run: true } })
    expect(dry).toMatchObject({ status: 200, json: { dry_run: true, submissions: [first], unknown: [unknown] } })
    expect(await left()).toEqual([first, second].sort())
    const done = await rig.ask('POST', '/submissions/purge', { body: { ids: [first, first, unknown] } })
    expect(done).toMatchObject({ status: 200, json: { account: 'default', dry_run: false, submissions: [first], unknown: [unknown] } })
    expect(await left()).toEqual([second])
    expect((await changesOf(rig.db)).at(-1)).toMatchObject({ entity: 'submissions', operation: 'purged', submission_id: first })
    expect(await rig.notes()).toMatchObject([
      { who: 'alice', action: 'submission.purge', target: 'default', detail: { count: 2, purged: 1 }, outcome: 'done' },
    ])
  })

  it('deletes submissions that the service has not known since before a day', async () => {
    const [gone = '', there = ''] = Array.from({ length: 2 }, () => crypto.randomUUID())
    const since = '2026-01-01T00:00:00.000000Z'
    const reach = { kind: 'reach', account: 'default', submissionId: gone, cause: 'poll', unreachableSince: since } as const
    await applyAll(rig.db, [trackFact('default', gone), trackFact('default', there)])
    await applyAll(rig.db, [reach])
    const purge = (gone_before: string) => rig.ask('POST', '/submissions/purge', { body: { gone_before } })
    expect(await purge('2025-12-31')).toMatchObject({ status: 200, json: { submissions: [] } })
    expect(await purge('2026-01-02')).toMatchObject({ status: 200, json: { submissions: [gone] } })
    expect(await left()).toEqual([there])
  })

  it('rejects invalid selections', async () => {
    for (const body of [{}, { ids: [] }, { ids: ['x'] }, { gone_before: 'x' }, { ids: [crypto.randomUUID()], gone_before: '2026-01-01' }])
      expect((await rig.ask('POST', '/submissions/purge', { body })).status, JSON.stringify(body)).toBe(400)
    expect(await rig.notes()).toEqual([])
  })
})
