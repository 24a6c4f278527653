import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { Worker } from '../../src/work/worker.ts'
import { silentLog } from '../tools/databases.ts'
import { uuid, wireMessage } from '../tools/observations.ts'

const BODY_PADDING = 'x'.repeat(1_300)
const PAGE = 500

export async function fillInbox(db: Db, account: string, messages: number, submissions: number): Promise<void> {
  const now = timeFromMs(Date.now())
  for (let first = 0; first < messages; first += PAGE) {
    await db.write('bench-fill', async (tx) => {
      for (let n = first; n < Math.min(messages, first + PAGE); n++) {
        const message = wireMessage(n, { body_text: BODY_PADDING })
        const body = Buffer.from(JSON.stringify({ type: 'submission.message', submission_id: uuid(9, n % submissions), message }))
        const row = { account, delivery_id: `msg_${n}`, received_at: now, secret: 1, state: 'ready' as const, attempts: 0 }
        await tx.sql
          .insertInto('sync_inbox')
          .values({ ...row, available_at: now, headers: '{}', body })
          .execute()
      }
    })
  }
}

/** Processes the inbox until this many deliveries are settled. @returns seconds. */
export async function workOff(db: Db, deliveries: number): Promise<number> {
  const done = new AbortController()
  let settled = 0
  const observer: typeof silentObserver = {
    ...silentObserver,
    count(name, _labels, by = 1) {
      if (name === 'deliveries_settled_total') settled += by
      if (settled >= deliveries) done.abort()
    },
  }
  const startedAt = performance.now()
  await new Worker({ db, clock: systemClock, log: silentLog, observer, restMs: () => 0 }).run(done.signal)
  return (performance.now() - startedAt) / 1000
}
