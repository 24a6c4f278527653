import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import { AccountGate } from '../../src/poll/account-gate.ts'
import type { ClaimedReadEnd } from '../../src/poll/claimed-read.ts'
import { findAccount, pinBrokerage } from '../../src/store/reads/accounts.ts'
import type { AccountsTable } from '../../src/store/schema/reads.ts'
import { onSqlite, silentLog } from '../tools/databases.ts'
import { rowsOf } from '../tools/mirror.ts'
import { wireMessage } from '../tools/observations.ts'
import { HOUR, policy, Rig } from '../tools/poller.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'

const MINUTE = 60_000
const RETRY_MS = 900_000

async function account(rig: Rig, name = 'default'): Promise<AccountsTable> {
  const row = await findAccount(rig.db.read, name)
  if (row === null) throw new Error(`no account ${name}`)
  return row
}

/** @param aheadMs the process's clock minus the database's. */
function gateAhead(rig: Rig, aheadMs: number, place?: { readonly baseUrl: string }): AccountGate {
  return gateWith(rig, { ...systemClock, now: () => Date.now() + aheadMs }, place)
}

function gateWith(
  rig: Rig,
  clock: Clock,
  { baseUrl } = rig.sandbox as { readonly baseUrl: string },
  clientClock = clock,
  log = silentLog,
): AccountGate {
  const common = { account: 'default', observer: silentObserver }
  const client = sandboxClient(rig.sandbox, 'default', { clock: clientClock, baseUrl })
  onTestFinished(() => client.close())
  return new AccountGate({ ...common, clock, db: rig.db, client, log })
}

function steadyGate(rig: Rig) {
  let steady = 0
  const gate = gateWith(rig, { ...systemClock, steady: () => steady }, undefined, systemClock)
  return {
    async isClosed(afterMs: number): Promise<boolean> {
      steady += afterMs
      return await gate.isClosed(new AbortController().signal)
    },
    note: (end: ClaimedReadEnd) => gate.note({ submissionId: crypto.randomUUID(), read: 'events', lastReadAt: null }, end, Date.now()),
  }
}

async function untilState(rig: Rig, state: AccountsTable['state'], name = 'default'): Promise<void> {
  await rig.until(`account ${name} is ${state}`, async () => (await account(rig, name)).state === state)
  await rig.idle()
}

async function tracked(rig: Rig, name = 'default'): Promise<string> {
  const id = rig.sandbox.addSubmission(name)
  rig.sandbox.addEvent(name, id, { type: 'market_attached' })
  await rig.track([id], name)
  return id
}

describe.each(onSqlite)('credentials on $name', (database) => {
  it('a wrong base URL is reported as the possible cause of refused credentials', async () => {
    const rig = await Rig.open(database)
    const gate = gateAhead(rig, 0, { baseUrl: `${rig.sandbox.baseUrl}/elsewhere` })
    expect(await gate.isClosed(new AbortController().signal)).toBe(true)
    expect(await account(rig)).toMatchObject({
      state: 'suspended',
      reason: expect.stringMatching(/answered 404.*check client id, secret and base URL$/),
    })
  })

  it.each([400, 404, 405, 410, 422, 431, 451])(
    'trap 46: a service that answers %i when it is asked who we are has the account suspended only if it refuses reads, too',
    async (status) => {
      const rig = await Rig.open(database)
      await tracked(rig)
      rig.sandbox.faults.add({ kind: 'status', status, operation: 'me' })
      const { isClosed } = steadyGate(rig)
      expect(await isClosed(0)).toBe(false)
      const { state, identity_error, identity_failing_since } = await account(rig)
      expect([state, identity_error]).toEqual(['active', expect.stringContaining(`the service answered ${status}`)])
      expect(identity_failing_since).not.toBeNull()
      rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'requirements' })
      expect(await isClosed(MINUTE)).toBe(false)
      expect(await isClosed(MINUTE)).toBe(true)
      expect(await account(rig)).toMatchObject({
        state: 'suspended',
        reason: expect.stringContaining(`answered ${status}`),
        identity_failing_since,
      })
    },
  )

  it.each([401, 403])(
    'trap 43: %i for a new token suspends the account only if repeated a minute later without an accepted token',
    async (status) => {
      const rig = await Rig.open(database)
      const { isClosed, note } = steadyGate(rig)
      const refuse = () => rig.sandbox.faults.set([{ kind: 'status', status, operation: 'me' }])
      refuse()
      expect(await isClosed(0)).toBe(false)
      rig.sandbox.faults.set([])
      expect(await isClosed(MINUTE)).toBe(false)
      expect(await account(rig)).toMatchObject({ state: 'active', identity_error: null, identity_failing_since: null })

      refuse()
      expect(await isClosed(HOUR)).toBe(false)
      const asked = rig.asked('me').length
      await note('refused')
      expect(await isClosed(MINUTE - 1_000), 'refused reads do not bring the second check forward').toBe(false)
      expect(rig.asked('me')).toHaveLength(asked)
      expect(await isClosed(1_000)).toBe(true)
      expect(await account(rig)).toMatchObject({ state: 'suspended', reason: expect.stringContaining(`answered ${status}`) })
      await rig.pass(RETRY_MS)
      expect(await isClosed(RETRY_MS), 'a suspended account stays so by one refusal').toBe(true)
      expect(Date.parse((await account(rig)).retry_at ?? '')).toBeGreaterThan(Date.now())
    },
  )

  it('an account paused for its brokerage stays so while the identity is unknown', async () => {
    const rig = await Rig.open(database)
    const { brokerage } = rig.sandbox.account('default')
    await pinBrokerage(rig.db, 'default', { brokerage: brokerage.id, clientId: null })
    rig.sandbox.account('default').brokerage = { id: 'another', name: 'Another brokerage' }
    const gate = gateWith(rig, systemClock, undefined, { ...systemClock, sleep: async () => {} })
    const { signal } = new AbortController()
    expect(await gate.isClosed(signal)).toBe(true)
    rig.sandbox.account('default').brokerage = brokerage
    rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'me' })
    await rig.pass(RETRY_MS)
    expect(await gate.isClosed(signal)).toBe(true)
    const { state, reason, retry_at } = await account(rig)
    expect([state, reason]).toEqual(['paused', expect.stringContaining('another')])
    expect(Date.parse(retry_at ?? '')).toBeGreaterThan(Date.now())
    rig.sandbox.faults.set([])
    await rig.pass(RETRY_MS)
    expect(await gate.isClosed(signal)).toBe(false)
    expect(await account(rig)).toMatchObject({ state: 'active', reason: null })
  })

  it('trap 43: the retry of a suspended account follows the clock of the database', async () => {
    const rig = await Rig.open(database)
    for (const credential of rig.sandbox.account('default').credentials) credential.active = false
    const { signal } = new AbortController()
    for (const aheadMs of [2 * RETRY_MS, -2 * RETRY_MS]) {
      const gate = gateAhead(rig, aheadMs)
      expect(await gate.isClosed(signal)).toBe(true)
      const asked = rig.sandbox.activity.requests.length
      expect(await gate.isClosed(signal)).toBe(true)
      expect(rig.sandbox.activity.requests.length).toBe(asked)
      await rig.pass(RETRY_MS)
      expect(await gate.isClosed(signal)).toBe(true)
      expect(rig.sandbox.activity.requests.length).toBe(asked + 1)
      await rig.pass(RETRY_MS)
    }
  })

  it('a poller stopped during the identity check ends quietly', async () => {
    const rig = await Rig.open(database)
    rig.sandbox.faults.add({ kind: 'hang', operation: 'me' })
    const poller = rig.startPoller()
    await rig.until('the service is asked who we are', () => rig.asked('me').length > 0)
    await expect(poller.stop()).resolves.toBeUndefined()
  })

  it('trap 43: refused credentials suspend the account, which still receives deliveries and resumes automatically', async () => {
    const rig = await Rig.open(database)
    const id = await tracked(rig)
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    const [credential] = rig.sandbox.account('default').credentials
    if (!credential) throw new Error('no credential')
    credential.active = false
    rig.sandbox.tokens.expireAll('default')
    rig.sandbox.addEvent('default', id, { type: 'quote_received' })
    await rig.pass(policy.poll.activeMs)
    await untilState(rig, 'suspended')
    const { reason, retry_at } = await account(rig)
    expect(reason).toContain('credentials')
    expect(Date.parse(retry_at ?? '')).toBeGreaterThan(Date.now())
    expect(rig.logged('account default is suspended')).toBe(true)

    // Only one exchange at the next retry.
    const asked = rig.sandbox.activity.requests.length
    await rig.pass(60_000)
    await rig.deliver([{ type: 'submission.message', submission_id: id, message: wireMessage(1) }])
    await rig.until('the delivery is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 1)
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(1)
    expect(rig.sandbox.activity.requests).toHaveLength(asked)
    const suspendedUntil = Date.now() + RETRY_MS / 2
    await rig.pass(RETRY_MS)
    await rig.until('it tried again', async () => Date.parse((await account(rig)).retry_at ?? '') > suspendedUntil)
    expect(rig.sandbox.activity.requests.slice(asked).map((request) => request.operation)).toEqual(['token'])
    expect((await account(rig)).state).toBe('suspended')

    credential.active = true
    await rig.pass(RETRY_MS)
    await untilState(rig, 'active')
    await rig.rest()
    expect(await account(rig)).toMatchObject({ reason: null, retry_at: null })
    expect(await rowsOf(rig.db, marketEvents)).toHaveLength(2)
  })

  it('trap 43: a revoked credential reads on while its token is valid', async () => {
    const rig = await Rig.open(database)
    const id = await tracked(rig)
    await rig.poll()
    rig.sandbox.access.revokeKey(rig.sandbox.account('default'), rig.sandbox.account('default').credentials[0]?.clientId ?? '')
    rig.sandbox.addEvent('default', id, { type: 'quote_received' })
    await rig.passAndRest(policy.poll.maxMs)
    expect(await rowsOf(rig.db, marketEvents)).toHaveLength(2)
    expect((await account(rig)).state).toBe('active')
  })

  it("trap 46: the brokerage is pinned; another one's credentials pause that account, which resumes automatically", async () => {
    const rig = await Rig.open(database, { accounts: ['acme', 'zenith'] })
    const [acme, zenith] = [await tracked(rig, 'acme'), await tracked(rig, 'zenith')]
    const running = rig.startPoller({ account: 'acme' })
    rig.startPoller({ account: 'zenith' })
    await rig.rest()
    const pinned = rig.sandbox.account('acme').brokerage
    expect(await account(rig, 'acme')).toMatchObject({ state: 'active', brokerage: pinned.id })
    await running.stop()
    rig.sandbox.account('acme').brokerage = { id: 'another', name: 'Another brokerage' }
    rig.sandbox.addEvent('acme', acme, { type: 'quote_received' })
    rig.sandbox.addEvent('zenith', zenith, { type: 'quote_received' })
    rig.startPoller({ account: 'acme' })
    await untilState(rig, 'paused', 'acme')
    await rig.pass(policy.poll.activeMs)
    await rig.until('the other goes on', async () => (await rowsOf(rig.db, marketEvents)).length === 3)
    expect(await account(rig, 'acme')).toMatchObject({ state: 'paused', brokerage: pinned.id })
    expect((await account(rig, 'acme')).reason).toContain('another')
    expect(rig.logged('account acme is paused')).toBe(true)
    expect(await account(rig, 'zenith')).toMatchObject({ state: 'active' })

    rig.sandbox.account('acme').brokerage = pinned
    await rig.pass(RETRY_MS)
    await untilState(rig, 'active', 'acme')
    await rig.rest()
    expect(await rowsOf(rig.db, marketEvents)).toHaveLength(4)
  })

  it('trap 46: a brokerage without an id is identified by its name', async () => {
    const rig = await Rig.open(database)
    await tracked(rig)
    rig.sandbox.account('default').brokerage = { id: '', name: 'Bay' }
    rig.startPoller()
    await rig.until(
      'it is known who we are',
      async () => (await account(rig)).client_id !== null || (await account(rig)).state !== 'active',
    )
    await rig.rest()
    expect(await account(rig)).toMatchObject({ state: 'active', brokerage: 'Bay' })
  })

  it('trap 46: an unknown identity stops nothing; the brokerage is pinned once known', async () => {
    const rig = await Rig.open(database)
    await tracked(rig)
    rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'me' })
    const running = await rig.poll()
    expect(await rowsOf(rig.db, marketEvents)).toHaveLength(1)
    expect(await account(rig)).toMatchObject({ state: 'active', brokerage: null })
    await running.stop()
    rig.sandbox.faults.set([])
    rig.startPoller()
    await rig.until('it is pinned', async () => (await account(rig)).brokerage === rig.sandbox.account('default').brokerage.id)
  })

  it('trap 46: a pinned account is not read before its identity is known, unless the service never returns it', async () => {
    const rig = await Rig.open(database)
    await tracked(rig)
    rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'me' })
    const waits: number[] = []
    let tells = false
    let steady = 0
    const sleep = async (ms: number) => {
      steady += ms
      waits.push(ms)
      if (tells && waits.length === 2) rig.sandbox.faults.set([])
    }
    const { signal } = new AbortController()
    const logged: number[] = []
    const write = (line: string) => {
      logged.push(Number(/next check in ([\d.]+) s/.exec(line)?.[1]))
    }
    const log = createLog({ level: 'warn', pretty: false, secrets: [], destination: { write } })
    const newGate = () =>
      gateWith(rig, { ...systemClock, steady: () => steady, sleep }, undefined, { ...systemClock, sleep: async () => {} }, log)
    const isClosed = () => newGate().isClosed(signal)
    expect(await isClosed(), 'nothing is kept yet').toBe(false)
    expect(waits).toEqual([])
    expect(logged.splice(0)).toEqual([60])

    await pinBrokerage(rig.db, 'default', { brokerage: 'the one whose data is kept', clientId: null })
    const gate = newGate()
    expect(await gate.isClosed(signal), 'it was asked for long enough').toBe(false)
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(31_000)
    expect(await gate.isClosed(signal)).toBe(false)
    expect(waits).toHaveLength(6)
    expect(logged).toEqual([1, 2, 4, 8, 8, 8, 60])

    waits.length = 0
    tells = true
    expect(await isClosed()).toBe(true)
    expect(waits).toEqual([1_000, 2_000])
    expect(await account(rig)).toMatchObject({ state: 'paused', brokerage: 'the one whose data is kept' })
  })

  it('trap 46: a hanging identity check delays reads no longer than a refused one', async () => {
    const rig = await Rig.open(database)
    rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'me' })
    await pinBrokerage(rig.db, 'default', { brokerage: 'the one whose data is kept', clientId: null })
    let steady = 0
    const sleep = async (ms: number) => {
      steady += ms + 20_000
    }
    const clock = { ...systemClock, steady: () => steady, sleep }
    const gate = gateWith(rig, clock, undefined, { ...systemClock, sleep: async () => {} })
    expect(await gate.isClosed(new AbortController().signal)).toBe(false)
    expect(steady).toBeLessThan(60_000)
  })

  it('trap 46: a new client of the same brokerage is accepted', async () => {
    const rig = await Rig.open(database)
    await tracked(rig)
    const running = await rig.poll()
    await running.stop()
    const [first] = rig.sandbox.account('default').credentials
    const second = rig.sandbox.access.createKey(rig.sandbox.account('default'))
    if (first) first.active = false
    await rig.poll()
    await rig.until('the new client is known', async () => (await account(rig)).client_id === second.clientId)
    expect((await account(rig)).state).toBe('active')
  })
})
