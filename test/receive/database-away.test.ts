import { describe, expect, it, onTestFinished } from 'vitest'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { startChild } from '../tools/child.ts'
import { newPostgres, newSqlite, openAgain } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { type Answered, account, deliver, inboxOf, newSecret, startTestReceiver } from './support.ts'

const BODY = '{"type":"submission.message"}'
const secret = newSecret()
const accounts = [account('acme', [secret], true)]
const cannotStore = { status: 503, retryAfter: expect.stringMatching(/^\d+$/) }

/** Sends a delivery again, as the service does, until it is acknowledged. */
async function persist(send: () => Promise<Answered>): Promise<void> {
  for (;;) {
    const { status } = await send()
    if (status === 204) return
    expect(status).toBe(503)
  }
}

/** A receiver on a new database; both end with the test. */
async function receiving(place: { config: DatabaseConfig; remove(): Promise<void> }) {
  onTestFinished(() => place.remove())
  const db = await closedAtEnd(openAgain(place.config))
  await migrate(db)
  const receiver = await startTestReceiver({ db, accounts })
  onTestFinished(() => receiver.running.stop(1_000))
  return { db, ...receiver }
}

/** It ends with the test, with everything on it. */
async function onServer(options?: { fsync: boolean }) {
  const server = await startPostgres(options)
  const { config } = newPostgres(server.url)
  return { server, ...(await receiving({ config, remove: () => server.remove() })) }
}

describe('the database away', () => {
  it('Postgres stopped: 503, never a 2xx, and recovery without a restart', async () => {
    const { server, db, origin, lines } = await onServer({ fsync: false })
    const send = (id: string) => deliver(`${origin}/webhooks`, secret, BODY, { id })
    expect((await send('msg_1')).status).toBe(204)
    await server.stop()
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(`away_${n}`)))
    expect(answers).toEqual(answers.map(() => expect.objectContaining(cannotStore)))
    await server.start()
    await persist(() => send('msg_2'))
    expect((await inboxOf(db)).map((row) => row.delivery_id)).toEqual(['msg_1', 'msg_2'])
    const said = lines.map((line) => String(line['msg']))
    expect(said.filter((line) => line.startsWith('deliveries cannot be stored now'))).toHaveLength(1)
    expect(said.filter((line) => line.startsWith('deliveries are stored again'))).toHaveLength(1)
  })

  it('Postgres killed under load: nothing that was acknowledged is lost', async () => {
    const { server, db, origin } = await onServer()
    const acknowledged: string[] = []
    let stop = false
    onTestFinished(() => {
      stop = true
    })
    const senders = Array.from({ length: 16 }, async (_, sender) => {
      for (let n = 0; !stop; n++) {
        const id = `msg_${sender}_${n}`
        const { status } = await deliver(`${origin}/webhooks`, secret, BODY, { id })
        expect([204, 503]).toContain(status)
        if (status === 204) acknowledged.push(id)
      }
    })
    await until('much is acknowledged', () => acknowledged.length >= 200)
    await server.kill()
    await server.start()
    const before = acknowledged.length
    await until('it goes on', () => acknowledged.length >= before + 200)
    stop = true
    await Promise.all(senders)
    const stored = new Set((await inboxOf(db)).map((row) => row.delivery_id))
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
  })

  it('SQLite locked by another process: 503 once it has waited, and recovery without a restart', async () => {
    const place = newSqlite()
    const { db, origin } = await receiving(place)
    const other = startChild('store/children/hold-lock.ts', [place.config.path])
    await other.says('locked')
    const answers = await Promise.all([1, 2, 3].map((n) => deliver(`${origin}/webhooks`, secret, BODY, { id: `locked_${n}` })))
    expect(answers).toEqual(answers.map(() => expect.objectContaining(cannotStore)))
    await other.kill()
    await persist(() => deliver(`${origin}/webhooks`, secret, BODY, { id: 'msg_1' }))
    // Deliveries that were answered 503 while their transaction waited for the lock may be stored as well.
    expect((await inboxOf(db)).map((row) => row.delivery_id)).toContain('msg_1')
  })

  it('SQLite locked for a moment: a delivery waits, and other requests are answered in that time', async () => {
    const place = newSqlite()
    const { origin } = await receiving(place)
    const other = startChild('store/children/hold-lock.ts', [place.config.path])
    await other.says('locked')
    const waiting = deliver(`${origin}/webhooks`, secret, BODY, { id: 'msg_1' })
    expect((await deliver(`${origin}/webhooks`, newSecret(), BODY)).status).toBe(401)
    other.tell('let go')
    expect((await waiting).status).toBe(204)
  })

  it('the disk full: 503, never a 2xx, and recovery when there is room', async () => {
    const place = newSqlite()
    onTestFinished(() => place.remove())
    const child = startChild('receive/children/small-disk.ts', [place.config.path, secret], 'ulimit -S -f 8000')
    const url = `http://127.0.0.1:${await child.says('listening')}/webhooks`
    const body = 'x'.repeat(60_000)
    const acknowledged: string[] = []
    let refused = 0
    for (let n = 0; refused < 5 && n < 1_000; n++) {
      const answer = await deliver(url, secret, body, { id: `msg_${n}` })
      if (answer.status === 204) acknowledged.push(`msg_${n}`)
      else {
        expect(answer).toMatchObject(cannotStore)
        refused += 1
      }
    }
    expect([acknowledged.length > 0, refused]).toEqual([true, 5])
    child.tell('room')
    await child.says('there is room')
    await persist(() => deliver(url, secret, body, { id: 'msg_last' }))
    acknowledged.push('msg_last')
    await child.kill()
    const db = await closedAtEnd(openAgain(place.config))
    expect((await inboxOf(db)).map((row) => row.delivery_id)).toEqual(acknowledged)
  })
})
