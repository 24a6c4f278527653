import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { Webhook } from 'svix'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Secret } from '../../../src/base/secret.ts'
import { letTimePass } from '../../e2e/time.ts'
import { onSqlite } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { type Arrived, startReceiver } from '../receiver.ts'
import { PushRig, SECRET, webhookTo } from '../rig.ts'

const DAY_MS = 86_400_000
const waiting = { entities: ['market_events'], scheduleMs: [3 * DAY_MS, 3 * DAY_MS] }
const event = (n: number) => observedEvent('default', uuid(9, 1), wireEvent(n))

/** Answers for the system's resolver, as `dns.lookup` does with `all`. */
function resolveBy(answer: () => NodeJS.ErrnoException | string): void {
  const { lookup } = dns
  const put = (next: unknown) => {
    Object.assign(dns, { lookup: next })
    syncBuiltinESMExports()
  }
  put((_: string, __: object, done: (error: Error | null, addresses: readonly { address: string; family: number }[]) => void) => {
    const found = answer()
    if (typeof found === 'string') done(null, [{ address: found, family: 4 }])
    else done(found, [])
  })
  onTestFinished(() => put(lookup))
}

function isSigned({ body, headers }: Arrived, secret: string): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

describe.each(onSqlite)('changes that wait for their target, on $name', (database) => {
  it('are sent once, in order, when the name of the target resolves again', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    let asked = 0
    let isAway = true
    resolveBy(() => {
      asked += 1
      return isAway ? Object.assign(new Error('getaddrinfo'), { code: asked % 2 === 0 ? 'ENOTFOUND' : 'EAI_AGAIN' }) : '127.0.0.1'
    })
    const destination = webhookTo(receiver.url.replace('127.0.0.1', 'ams.example.test'), {
      // Nothing of it was sent, so nobody has to check whether it arrived.
      idempotent: false,
      entities: ['market_events'],
      scheduleMs: Array(200).fill(20),
    })
    await rig.push(destination)
    await rig.apply([event(1), event(2), event(3)])
    await rig.until('it was tried often enough to rest', async () => (await rig.destination()).failures >= 6)
    expect((await rig.rows())[0]?.error).toMatch(/the host name has no address/)
    isAway = false
    await rig.until('all is delivered', () => rig.isEmpty())
    const rows = await rig.rows()
    expect(rows.map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered'])
    expect(receiver.taken.map(({ id }) => id)).toEqual(rows.map(({ message_id: id }) => id))
  })

  it('is signed, days later, with the secrets and the time of that day, under the id that it had', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver((_, response) => response.writeHead(503).end())
    const before = await rig.push(webhookTo(receiver.url, waiting))
    await rig.apply([event(1)])
    await rig.until('it was tried', async () => (await rig.rows())[0]?.attempts === 1)
    await before.stop()
    const [first] = receiver.arrived
    if (first === undefined) throw new Error('nothing arrived')
    expect(isSigned(first, SECRET)).toBe(true)

    await letTimePass(rig.db, 4 * DAY_MS)
    const rotated = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
    receiver.behave((request, response, take) => (isSigned(request, rotated) ? take() : response.writeHead(401).end()))
    rig.start([webhookTo(receiver.url, { ...waiting, secrets: [new Secret(rotated), new Secret(SECRET)] })])
    await rig.until('it is delivered', () => rig.isEmpty())
    const second = receiver.arrived.at(-1)
    if (second === undefined) throw new Error('nothing arrived')
    expect([second.headers['webhook-id'], second.body]).toEqual([first.headers['webhook-id'], first.body])
    // A receiver that still has the old secret takes it too.
    expect(isSigned(second, SECRET)).toBe(true)
    expect((await rig.rows())[0]).toMatchObject({ state: 'delivered', attempts: 2 })
  })
})
