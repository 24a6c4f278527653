import { describe, expect, it } from 'vitest'
import { personalColumns } from '../../../src/model/personal.ts'
import { testDatabases } from '../../tools/databases.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { startReceiver } from '../receiver.ts'
import { PushRig, webhookTo } from '../rig.ts'

describe.each(testDatabases)('pushes from $name', (database) => {
  it('are as they are described: changes of a filled mirror, and its snapshot', async () => {
    const rig = await PushRig.open(database)
    const [follower, late] = [await startReceiver(), await startReceiver()]
    const whole = { accounts: ['acme'], personalFields: personalColumns }
    const following = webhookTo(follower.url, whole)
    await rig.begin(following)
    await fillScene(rig.db)
    const snapshot = webhookTo(late.url, { ...whole, name: 'late', start: 'snapshot', personalFields: [] })
    await rig.begin(snapshot)
    rig.start([following, snapshot])
    await rig.until('both have everything', async () => {
      const { snapshot: left } = await rig.destination('late')
      return left === null && (await rig.isEmpty('late')) && (await rig.isEmpty())
    })
    const { last_seq } = await rig.db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
    expect(follower.taken.map(({ data }) => data.seq).sort((a, b) => a - b)).toEqual(Array.from({ length: last_seq }, (_, n) => n + 1))
    expect(new Set(late.taken.map(({ data }) => data.entity)).size).toBeGreaterThan(10)
  })
})
