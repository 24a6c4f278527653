// Reads every submission of an account in its own process, without a rate limit. Arguments: `reconcile` or `bare`, the SQLite file, the
// service's base URL, the number of submissions. Prints `result {"seconds": …, "rssMb": …, "code": …}`.
import { readFileSync } from 'node:fs'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { limitHeapGrowth } from '../../../src/ops/cli/heap-growth.ts'
import { workRun } from '../../../src/reconcile/run/run.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { claimNewRun } from '../../../src/store/reconcile/claims.ts'
import type { UpstreamClient } from '../../../src/upstream/client.ts'
import { silentLog } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { defaultRecordFields } from '../../tools/record-fields.ts'
import { clientOf } from '../bare-client.ts'

const CONCURRENCY = 8

limitHeapGrowth()
const [mode = '', path = '', baseUrl = '', count = '0'] = process.argv.slice(2)
const client = clientOf({ baseUrl, clientId: 'bac_bench', clientSecret: 'bas_bench' })
const startedAt = performance.now()
const code = mode === 'bare' ? await bareFeedReads(client, Number(count)) : await reconcile(client)
const seconds = (performance.now() - startedAt) / 1000
const rssMb = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
await client.close()
console.log(`result ${JSON.stringify({ seconds, rssMb, code })}`)

async function reconcile(client: UpstreamClient): Promise<number> {
  const db = await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: silentLog })
  const claim = await claimNewRun(db, { account: 'bench', options: {}, requestedBy: 'command' })
  if ('busy' in claim) throw new Error('another run is in progress')
  const parts = {
    db,
    database: null,
    client,
    clock: systemClock,
    log: silentLog,
    observer: silentObserver,
    concurrency: CONCURRENCY,
    recordFields: defaultRecordFields,
    destinations: [],
  }
  const run = await workRun({ ...parts, budgetMs: 86_400_000, onAbort: 'stop' }, claim, new AbortController().signal)
  await db.close()
  if (run.submissions_done !== Number(count)) throw new Error(`${run.submissions_done} submissions were looked at`)
  return run.missing + run.different + run.absent + run.unreadable + (run.exit_code ?? 1)
}

async function bareFeedReads(client: UpstreamClient, submissions: number): Promise<number> {
  let next = 0
  const hand = async () => {
    while (next < submissions) {
      const id = uuid(9, next++)
      await client.state('requirements', id)
      for (const feed of ['events', 'thread'] as const) {
        for (let since: string | null = null; ; ) {
          const page: { nextCursor: string | null } = await client[feed](id, since)
          if (page.nextCursor === null) break
          since = page.nextCursor
        }
      }
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, hand))
  return 0
}
