import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { Discovery } from '../../src/poll/discovery.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { ensureAccounts, pinBrokerage, stopAccount } from '../../src/store/reads/accounts.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { AuthRefusedError, UpstreamTransientError } from '../../src/upstream/http/errors.ts'
import { openedDb } from '../push/outbox.ts'
import { onSqlite, silentLog } from '../tools/databases.ts'

const ACCOUNT = 'acme'
const CALL = { operation: 'probe', submissionId: null, withCursor: false } as const
const IDLE = 3

/** Runs discovery of two paths that fail. @returns the requests. */
async function asked(db: Db, failure: Error, looks = IDLE, log = silentLog): Promise<string[]> {
  const requests: string[] = []
  const client: Pick<UpstreamClient, 'me' | 'probe' | 'waitMs'> = {
    me: async () => {
      requests.push('me')
      return { kind: 'broker', brokerage: 'ours', clientId: null, label: null, activeStates: null }
    },
    probe: () => {
      requests.push('probe')
      return Promise.reject(failure)
    },
    waitMs: () => 0,
  }
  const stopping = new AbortController()
  let idle = 0
  const sleep = async () => {
    idle += 1
    if (idle === looks) stopping.abort()
  }
  const common = { account: ACCOUNT, db, log, observer: silentObserver, clock: { ...systemClock, sleep } }
  await new Discovery({ ...common, client: client as UpstreamClient, paths: ['one', 'two'], everyMs: 3_600_000 }).run(stopping.signal)
  return requests
}

describe.each(onSqlite)('discovery on $name', ({ open }) => {
  const busy = new UpstreamTransientError('throttled', CALL, 'answered 429', 60_000)

  async function database(brokerage: string | null): Promise<Db> {
    const db = await openedDb(open)
    await ensureAccounts(db, [ACCOUNT])
    if (brokerage !== null) await pinBrokerage(db, ACCOUNT, { brokerage, clientId: null })
    return db
  }

  it('stops all paths during a pause of the service', async () => {
    expect(await asked(await database('ours'), busy)).toEqual(['me', 'probe'])
  })

  it('sends nothing for an inactive or unidentified account', async () => {
    const stopped = await database('ours')
    await stopAccount(stopped, ACCOUNT, 'paused', 'many are not found', 900_000)
    expect(await asked(stopped, busy)).toEqual([])
    expect(await asked(await database(null), busy)).toEqual([])
  })

  it('logs once that the brokerage is unknown', async () => {
    const lines: unknown[] = []
    const log = createLog({
      level: 'info',
      pretty: false,
      secrets: [],
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    })
    expect(await asked(await database(null), busy, 100, log)).toEqual([])
    expect(lines).toMatchObject([{ account: ACCOUNT, msg: expect.stringMatching(/^discovery for account acme waits/) }])
  })

  it('does not count refused credentials as a failure of the path', async () => {
    const db = await database('ours')
    await asked(db, new AuthRefusedError('auth', CALL, 'refused'))
    const probes = await db.read.sql.selectFrom('sync_path_reads').select(['failures', 'error']).execute()
    expect(probes).toEqual(Array(2).fill({ failures: 0, error: null }))
  })
})
