import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { BusyError, TransientError } from '../../src/base/errors.ts'
import { AccountPauses, waitForPause } from '../../src/poll/account-pauses.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { findPause } from '../../src/store/reads/pauses.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { onSqlite, silentLog } from '../tools/databases.ts'
import { Rig } from '../tools/poller.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'
import { until } from '../tools/until.ts'

const never = new AbortController().signal

interface Process {
  readonly client: UpstreamClient
  readonly pauses: AccountPauses
  readonly reported: string[]
}

function startProcess({ sandbox }: Rig, db: Db): Process {
  const reported: string[] = []
  const clients = new Map<string, UpstreamClient>()
  const report = (_: string, sentence: string) => void reported.push(sentence)
  const pauses = new AccountPauses({ db, clock: systemClock, log: silentLog, clients: () => clients, report })
  const client = sandboxClient(sandbox, 'default', { pauses })
  clients.set('default', client)
  onTestFinished(() => client.close())
  return { client, pauses, reported }
}

describe.each(onSqlite)('service pauses, on $name', (database) => {
  it('trap 49: are stored for all processes and the next start, and reported once by each', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission('default')
    const first = startProcess(rig, rig.db)
    rig.sandbox.faults.add({ kind: 'status', status: 429, retryAfterSeconds: 3_600, operation: 'events' })
    const both = [first.client.events(id, null), first.client.events(id, null)]
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await until('it is kept', async () => (await findPause(rig.db.read, 'default')) !== null)
    const reported = [expect.stringMatching(/^account default waits until \d{4}-.*Z: 429 with Retry-After to GET …\/events$/)]
    await first.pauses.exchange()
    expect(first.reported).toEqual(reported)

    const second = startProcess(rig, rig.db)
    for (let n = 0; n < 2; n += 1) await second.pauses.exchange()
    expect(second.reported).toEqual(reported)
    const asked = rig.sandbox.activity.requests.length
    await expect(second.client.thread(id, null)).rejects.toThrow('the service asked for a pause')
    await expect(waitForPause({ account: 'default', client: second.client, clock: systemClock }, never)).rejects.toThrow(BusyError)
    expect(rig.sandbox.activity.requests).toHaveLength(asked)
  })

  it('are stored after an outage of the database, with the remaining time', async () => {
    const rig = await Rig.open(database)
    let isDown = true
    const write: Db['write'] = async (...given) => {
      if (isDown) throw new TransientError('the database is down')
      return await rig.db.write(...given)
    }
    const { pauses } = startProcess(rig, new Proxy(rig.db, { get: (db, key) => (key === 'write' ? write : Reflect.get(db, key)) }))
    pauses.began('default', { ms: 600_000, reason: '503 with Retry-After to GET /broker/me' })
    await pauses.exchange()
    expect(await findPause(rig.db.read, 'default')).toBeNull()
    isDown = false
    await pauses.exchange()
    expect((await findPause(rig.db.read, 'default'))?.ms).toBeLessThanOrEqual(600_000)
  })
})
