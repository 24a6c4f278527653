import { describe, expect, it } from 'vitest'
import { testDatabases } from '../tools/databases.ts'
import { eventFact, messageFact, uuid, wireEvent, wireMessage } from '../tools/facts.ts'
import { startReceiver } from './receiver.ts'
import { PushRig, webhookTo } from './rig.ts'

const submission = (n: number) => uuid(9, n)

describe.each(testDatabases)('a sender on $name', (database) => {
  it('delivers every change once, in the order of its submission, and writes down that it did', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const destination = webhookTo(receiver.url)
    await rig.begin(destination)
    rig.start([destination])
    for (let n = 0; n < 20; n++) {
      await rig.apply([eventFact('default', submission(n % 4), wireEvent(n)), messageFact('default', submission(n % 4), wireMessage(n))])
    }
    await rig.until('all is delivered', () => rig.isEmpty())
    const changes = await rig.db.read.sql.selectFrom('changes').select(['seq', 'submission_id']).orderBy('seq').execute()
    expect(receiver.taken.map(({ data }) => data.seq).sort((a, b) => a - b)).toEqual(changes.map(({ seq }) => seq))
    for (let n = 0; n < 4; n++) {
      const seqs = receiver.taken.filter(({ data }) => data.submission_id === submission(n)).map(({ data }) => data.seq)
      expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    }
    const rows = await rig.rows()
    expect(rows.every((row) => row.state === 'delivered' && row.attempts === 1 && row.status === 204)).toBe(true)
    expect(await rig.db.read.sql.selectFrom('sync_push_lanes').selectAll().execute()).toEqual([])
  })
})
