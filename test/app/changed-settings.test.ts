import { expect, it } from 'vitest'
import { retryChanged } from '../../src/app/retry-changed.ts'
import { Secret } from '../../src/base/secret.ts'
import type { Config } from '../../src/config/config.ts'
import { settingsFingerprint } from '../../src/config/same-settings.ts'
import { ensureDestinations, findDestination } from '../../src/store/outbox/destinations.ts'
import { suspendDestination } from '../../src/store/outbox/suspensions.ts'
import { ensureAccounts, findAccount, stopAccount } from '../../src/store/reads/accounts.ts'
import { accessOf } from '../../src/upstream/account-client.ts'
import { webhookTo } from '../push/rig.ts'
import { silentLog, testDatabases } from '../tools/databases.ts'

const account = (secret: string) =>
  ({ name: 'acme', baseUrl: 'https://service.example', scope: 'x', clientCredentials: [{ id: 'a', secret: new Secret(secret) }] }) as never
const destination = (secret: string) => webhookTo('https://ams.example', { secrets: [new Secret(secret)] })
const config = (secret: string) => ({ accounts: [account(secret)], destinations: [destination(secret)] }) as unknown as Config

it.each(testDatabases)('a start retries only what was rejected with other settings, and stores no secret, on $name', async ({ open }) => {
  const { db, close } = await open()
  await ensureAccounts(db, ['acme'])
  await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
  const hour = { baseMs: 0, leastMs: 3_600_000, reason: 'answered 401' }
  await stopAccount(db, 'acme', 'suspended', 'refused', 3_600_000, await settingsFingerprint(accessOf(account('wrong-secret'))))
  const refusedWith = await settingsFingerprint(destination('wrong-secret'))
  await suspendDestination(db, 'ams', { ...hour, retry: 'soon', refusedWith })
  const waits = async () => {
    const rows = [await findAccount(db.read, 'acme'), await findDestination(db.read, 'ams')]
    expect(JSON.stringify(rows)).not.toContain('wrong-secret')
    return rows.map((row) => Date.parse(row?.retry_at ?? '') > Date.now() + 1_800_000)
  }
  await retryChanged(db, config('wrong-secret'), silentLog)
  expect(await waits()).toEqual([true, true])
  await retryChanged(db, config('right-secret'), silentLog)
  expect(await waits()).toEqual([false, false])
  // After a 410 only a person or new settings end the suspension.
  await suspendDestination(db, 'ams', { ...hour, retry: 'manually', refusedWith })
  expect((await findDestination(db.read, 'ams'))?.retry_at).toBeNull()
  await retryChanged(db, config('right-secret'), silentLog)
  expect((await findDestination(db.read, 'ams'))?.retry_at).not.toBeNull()
  await close()
})
