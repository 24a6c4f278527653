import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, inject, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { untilAgreed, waitFor } from '../e2e/agreement.ts'
import { accountEnv, databaseEnv, type Environment, type ServeProcess, startServe } from '../e2e/serve.ts'
import { bodyFaults, pushFaults } from '../push/agreement.ts'
import { Hooks } from '../push/hooks.ts'
import { newPostgres, newSqlite, openAgain } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { type Direction, Relay } from '../tools/relay.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { expectNothingLost, Load, readiness } from './load.ts'

const FEW = 8
const ENOUGH = 40
const DESTINATION = 'ams'
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

async function serve(env: Environment): Promise<ServeProcess> {
  const running = await startServe(env)
  onTestFinished(() => running.kill())
  return running
}

async function relayTo(url: string): Promise<Relay> {
  const relay = await closedAtEnd(Relay.start(url))
  return relay
}

function destinationEnv(url: string): Environment {
  const folder = newFolder()
  const destination = {
    name: DESTINATION,
    kind: 'webhook',
    url,
    secret: '${HOOK_SECRET}',
    start: 0,
    backfill: true,
    allow_private: true,
    timeout: '1s',
    schedule: Array.from({ length: 30 }, () => '50ms'),
  }
  writeFileSync(join(folder, 'mirror.yaml'), JSON.stringify({ destinations: [destination] }))
  return { CONFIG_FILE: join(folder, 'mirror.yaml'), HOOK_SECRET: SECRET }
}

async function failingReads(db: Db): Promise<number> {
  return (await db.read.sql.selectFrom('sync_reads').select('error').where('failures', '>', 0).execute()).length
}

async function failedPushes(db: Db): Promise<number> {
  return (await db.read.sql.selectFrom('sync_outbox').select('attempts').where('attempts', '>', 0).where('state', '=', 'ready').execute())
    .length
}

async function abandoned(db: Db): Promise<number> {
  return await db.read.count(sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity where state = 'idle in transaction' and state_change < now() - interval '2 seconds'`)
}

it.each(['there', 'back'] as const)(
  'the service and a destination that one direction (%s) is cut to are tried again, and nothing is lost or changed',
  async (direction) => {
    const sandbox = await startSandbox({ submissions: 1, autoStart: false })
    const hooks = await Hooks.start(SECRET)
    const place = newSqlite()
    onTestFinished(async () => {
      await sandbox.close()
      await hooks.close()
      await place.remove()
    })
    const [service, ams] = [await relayTo(sandbox.baseUrl), await relayTo(hooks.urlOf(DESTINATION))]
    const account = { ...accountEnv(sandbox), BROKER_API_BASE_URL: service.url }
    const running = await serve({ ...databaseEnv(place.config), ...account, ...destinationEnv(ams.url) })
    sandbox.account('default').target = `${running.receiver}/webhooks`
    const [id = ''] = sandbox.submissionIds('default')
    sandbox.addMessage('default', id, { body_text: 'before' })
    const db = await closedAtEnd(openAgain(place.config))
    expect(await untilAgreed(db, sandbox)).toEqual([])

    for (const relay of [service, ams]) relay.swallow(direction)
    for (const text of ['meanwhile', 'then']) sandbox.addMessage('default', id, { body_text: text })
    await sandbox.deliveries.idle()
    expect(sandbox.stats().deliveries).toMatchObject({ givenUp: 0 })
    expect(await waitFor(async () => (await failingReads(db)) > 0 && (await failedPushes(db)) > 0)).toBe(true)
    await readiness(running, 200)

    for (const relay of [service, ams]) relay.resume()
    sandbox.addMessage('default', id, { body_text: 'after' })
    expect(await untilAgreed(db, sandbox), running.lines().join('\n')).toEqual([])
    const faults = () => pushFaults(db, { destination: DESTINATION }, hooks.takenBy(DESTINATION))
    await waitFor(async () => (await faults()).length === 0)
    expect(await faults()).toEqual([])
    expect(await bodyFaults(db, hooks.arrivals)).toEqual([])
    expect(await running.stop()).toBe(0)
  },
)

it('while one direction to Postgres is cut deliveries are answered 503 in time, and accepted again afterwards', async () => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0 }))
  await Promise.all((['there', 'back'] as const).map(cutOff))

  async function cutOff(direction: Direction): Promise<void> {
    const place = newPostgres(inject('postgresUrl'))
    onTestFinished(() => place.remove())
    const relay = await relayTo(inject('postgresUrl'))
    const running = await serve({ ...databaseEnv(place.config), DATABASE_URL: relay.url, ...accountEnv(sandbox) })
    const { webhookSecret: secret } = sandbox.account('default')
    const load = new Load({ url: `${running.receiver}/webhooks`, secret, submissionId: sandbox.addSubmission('default') })
    await load.answered(204, ENOUGH)
    relay.swallow(direction)
    await load.answered(503, FEW)
    await readiness(running, 503)
    relay.resume()
    await load.answered(204, ENOUGH)
    await load.stop()
    await readiness(running, 200)
    const db = await closedAtEnd(openAgain(place.config))
    // The server ends a stuck transaction after 30 s, with its locks.
    expect(await waitFor(async () => (await abandoned(db)) === 0)).toBe(true)
    await expectNothingLost(load, running, db)
    expect(await running.stop()).toBe(0)
  }
})
