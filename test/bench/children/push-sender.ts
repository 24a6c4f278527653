// Sends to a receiver, as the product or as a bare client. Reads a job (`SendJob`) as a line of JSON; prints `took MS`.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Webhook } from 'svix'
import { Agent, request } from 'undici'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { createKind } from '../../../src/push/kinds/create.ts'
import { redacting } from '../../../src/push/kinds/redacting.ts'
import { Sender } from '../../../src/push/send/sender.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { silentLog } from '../../tools/databases.ts'
import { destinationTo, PUSH_SECRET } from '../push-destination.ts'
import { refill } from '../push-queue.ts'

export type SendJob =
  | {
      readonly type: 'product'
      readonly path: string
      /** Destinations by name; the first is measured and has `rows` rows. */
      readonly urls: readonly (readonly [name: string, url: string])[]
      readonly rows: number
      readonly staysOpen: boolean
    }
  | { readonly type: 'bare'; readonly file: string; readonly url: string; readonly concurrency: number }

const open = new Map<string, Db>()

console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line) as SendJob
  console.log(`took ${job.type === 'bare' ? await sendBare(job) : await sendAll(job)}`)
}

async function sendAll({ path, urls, rows, staysOpen }: Extract<SendJob, { type: 'product' }>): Promise<number> {
  const kept = open.get(path)
  if (kept) await refill(kept, path)
  const db = kept ?? (await openDb({ kind: 'sqlite', path }, { clock: systemClock, log: silentLog }))
  if (staysOpen) open.set(path, db)
  const done = new AbortController()
  const [[measured] = ['']] = urls
  let delivered = 0
  const observer: typeof silentObserver = {
    ...silentObserver,
    count(name, labels, by = 1) {
      if (name !== 'push_attempts_total' || labels?.['destination'] !== measured || labels['outcome'] !== 'delivered') return
      delivered += by
      if (delivered === rows) done.abort()
    },
  }
  const pairs = urls.map(([name, url]) => {
    const destination = destinationTo(name, url)
    return { destination, kind: redacting(createKind(destination, { clock: systemClock, log: silentLog, proxy: {} }), [PUSH_SECRET]) }
  })
  const senders = pairs.map((pair) => new Sender({ db, clock: systemClock, log: silentLog, observer, ...pair, graceMs: 5_000 }))
  const startedAt = performance.now()
  const [first, ...others] = senders.map((sender) => sender.run(done.signal))
  await first
  const took = performance.now() - startedAt
  await Promise.all(others)
  await Promise.all(pairs.map(({ kind }) => kind.close()))
  if (!staysOpen) await db.close()
  return took
}

async function sendBare({ file, url, concurrency }: Extract<SendJob, { type: 'bare' }>): Promise<number> {
  const bodies = readFileSync(file, 'utf8').split('\n')
  const dispatcher = new Agent({ connections: concurrency })
  const key = new Webhook(PUSH_SECRET)
  let next = 0
  const post = async (): Promise<void> => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const id = `msg_${next}`
      const at = new Date()
      const headers = {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': key.sign(id, at, body),
      }
      const answer = await request(url, { method: 'POST', headers, body, dispatcher })
      await answer.body.dump()
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: concurrency }, post))
  const took = performance.now() - startedAt
  await dispatcher.close()
  return took
}
