import { expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { TransientError } from '../../src/base/errors.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { AccountGate, type GateOptions } from '../../src/poll/account-gate.ts'
import { ensureAccounts, findAccount } from '../../src/store/reads/accounts.ts'
import { openedDb } from '../push/outbox.ts'
import { onSqlite, silentLog } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { applyEach } from '../tools/mirror.ts'
import { trackFact, uuid } from '../tools/observations.ts'

const ACCOUNT = 'acme'

it.each(onSqlite)(
  'trap 48: a wave over which the account could not be stopped, the store being away, is seen again, on $name',
  async ({ open }) => {
    const db = await openedDb(open)
    const ids = [uuid(9, 1), uuid(9, 2)]
    const lastReadAt = timeFromMs(Date.now())
    await ensureAccounts(db, [ACCOUNT])
    await applyEach(db, ids, (id) => trackFact(ACCOUNT, id))
    await db.write('test-read', (tx) => tx.sql.updateTable('sync_reads').set({ last_read_at: lastReadAt }).execute())
    let away = true
    const store = interrupted(db, (name) => {
      if (away && name === 'account-stop') throw new TransientError('the store is away')
    })
    const client = {} as GateOptions['client']
    const gate = new AccountGate({ account: ACCOUNT, db: store, client, clock: systemClock, log: silentLog, observer: silentObserver })
    const miss = (id = '') => gate.note({ submissionId: id, read: 'events', lastReadAt }, 'gone', Date.now())
    expect(await miss(ids[0])).toBe(false)
    await expect(miss(ids[1])).rejects.toThrow('the store is away')
    away = false
    expect([await miss(ids[0]), await miss(ids[1])]).toEqual([false, true])
    expect(await findAccount(db.read, ACCOUNT)).toMatchObject({ state: 'paused' })
  },
)
