import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { operatingGroups } from '../../src/app/operating.ts'
import { hook } from '../config/support.ts'
import { openWatch } from '../ops/alarms/rig.ts'
import { startReceiver } from '../push/receiver.ts'
import { onSqlite } from '../tools/databases.ts'

it.each(onSqlite)('an alert recipient who does not answer delays no other, on $name', async (database) => {
  const heard = Promise.withResolvers<void>()
  let aborted = false
  const silent = await startReceiver((_, response) => void response.once('close', () => (aborted = true)))
  const desk = await startReceiver((_, __, take) => {
    take()
    heard.resolve()
  })
  const common = { kind: 'webhook', secret: '${OPERATOR_SECRET}', allow_private: true }
  const operators = [
    { name: 'silent', url: silent.url, ...common },
    { name: 'desk', url: desk.url, ...common },
  ]
  const { db, clock, config, parts, look, deliver } = await openWatch(database, { operators }, { OPERATOR_SECRET: hook(5) })
  await deliver(1)
  await db.write('test', (tx) => tx.run(sql`update sync_inbox set state = 'dead'`))
  await look()
  const groups = operatingGroups({ db, clock, config, log: parts.log, observer: parts.observer, clients: new Map() })
  const made = await Promise.all(groups.filter(({ name }) => name.startsWith('messages to alert recipients')).map((group) => group.make()))
  const messaging = made.flatMap(({ services }) => services)
  const stopping = new AbortController()
  const ended = messaging.map((service) => service.run(stopping.signal))
  await heard.promise
  expect(aborted).toBe(false)
  stopping.abort()
  await Promise.all(ended)
})
