import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { FolderStorage } from '../../../src/documents/storage/folder.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { purgeSubmissions } from '../../../src/ops/actions/purge.ts'
import { backupSqlite } from '../../../src/store/backup/backup.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { noteUnreadable } from '../../../src/store/mirror/conflicts.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { queueRows } from '../../../src/store/outbox/fan-out.ts'
import { destinationOf, fanAll } from '../../push/outbox.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  byPoll,
  observedEvent,
  observedMessage,
  observedState,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { workInbox } from './purged.ts'

const ACCOUNT = 'acme'
const SUBMISSIONS = 120
const idOf = (n: number) => uuid(9, n)
const isPurged = (n: number) => n % 7 === 3
const ams = destinationOf('ams')

const plantedIn = (place: string, n: number) => `zq${place}${n}x`
const PLACES = 'name renamed detail market body subject attachment step email raw state conflict unread inbox heard dead sent answer'.split(
  ' ',
)

async function fill(db: Db, n: number): Promise<void> {
  const id = idOf(n)
  const value = (place: string) => plantedIn(place, n)
  const event = wireEvent(n, { detail: value('detail'), market_name: value('market'), extra: value('raw') })
  const message = wireMessage(n, {
    body_text: value('body').repeat(40),
    subject: value('subject'),
    from: `${value('email')}@example.com`,
    attachments: [{ name: `${value('attachment')}.pdf`, download_path: `/broker/finalized-documents/${uuid(4, n)}/pdf` }],
  })
  const lanes = [wireLane(n, { next_step: value('step') })]
  const state = (place: string) => wireRequirements(id, lanes, { insured_name: value(place), extra: value('state') })
  await applyAll(db, [
    observedEvent(ACCOUNT, id, event, byPoll),
    observedMessage(ACCOUNT, id, message, byPoll),
    observedState(ACCOUNT, id, state('name'), 1),
  ])
  await applyAll(db, [
    observedEvent(ACCOUNT, id, { ...event, detail: value('conflict') }, byPoll),
    observedState(ACCOUNT, id, state('renamed'), 2),
  ])
  const unreadable = { account: ACCOUNT, submission_id: id, read: 'events', raw: JSON.stringify({ x: value('unread') }) } as const
  await db.write('test', (tx) => noteUnreadable(tx, [unreadable], timeFromMs(Date.now())))
  const body = {
    type: 'submission.events',
    submission_id: id,
    events: [wireEvent(n + 1_000, { extra: value('inbox') }, { name: value('heard') })],
  }
  const delivery = { account: ACCOUNT, deliveryId: `d${n}`, receivedAt: timeFromMs(Date.now()), headers: {}, secret: 1 }
  await new InboxAppender(db).append([{ ...delivery, body: Buffer.from(JSON.stringify(body)) }])
  await workInbox(db)
  const queued = { destination: 'ams', account: ACCOUNT, submissionId: id, entity: 'submissions', entityId: `["${id}"]`, seq: n }
  const rows = ['dead', 'sent'].map((place) => {
    const snapshot = { changed_at: timeFromMs(Date.now()), after: { insured_name: value(place) } }
    return { ...queued, snapshot, operation: 'update', cause: 'poll', messageId: `${place}${n}`, uncertain: false }
  })
  await db.write('test', (tx) => queueRows(tx, rows, []))
}

it('a purge overwrites freed bytes in the database and its log, and a later backup has none of them', async () => {
  const { db, config } = await closedAtEnd(sqliteDatabase.open())
  if (config.kind !== 'sqlite') throw new Error('expected a file')
  await ensureDestinations(db, [ams])
  for (let n = 0; n < SUBMISSIONS; n++) await fill(db, n)
  await fanAll(db, [ams])
  await db.write('test', async (tx) => {
    await tx.run(sql`update sync_outbox set state = case when message_id like 'dead%' then 'dead' else 'delivered' end`)
    await tx.run(sql`update sync_outbox set progress = 'zqanswer' || substr(message_id, 5) || 'x' where state = 'dead'`)
  })
  const numbers = Array.from({ length: SUBMISSIONS }, (_, n) => n)
  const found = () => {
    const folder = dirname(config.path)
    const bytes = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('latin1').toLowerCase()] as const)
    return (n: number) =>
      PLACES.flatMap((place) => bytes.flatMap(([name, text]) => (text.includes(plantedIn(place, n)) ? [`${place} in ${name}`] : [])))
  }
  expect(new Set(found()(3).map((text) => text.split(' ')[0]))).toEqual(new Set(PLACES))
  const clock = { ...systemClock, sleep: async () => {} }
  const a = { db, observer: silentObserver, who: 'ann', signal: new AbortController().signal, clock }
  await purgeSubmissions(a, ACCOUNT, numbers.filter(isPurged).map(idOf), new FolderStorage('/nowhere'))
  const backup = join(dirname(config.path), 'backup.db')
  await backupSqlite(config.path, backup, a.signal)
  expect(existsSync(backup)).toBe(true)
  const left = found()
  expect(numbers.filter(isPurged).flatMap((n) => left(n).map((where) => `${n} ${where}`))).toEqual([])
  expect(numbers.filter((n) => !isPurged(n) && left(n).length === 0)).toEqual([])
})
