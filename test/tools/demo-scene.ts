import { sql } from 'kysely'
import { ManualClock } from '../../src/base/clock.ts'
import type { Observation } from '../../src/model/observations.ts'
import type { IdRead } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { buildParts } from '../../src/sandbox/service/build.ts'
import { insuredOf } from '../../src/sandbox/service/insureds.ts'
import { submissionTruth } from '../../src/sandbox/service/truth.ts'
import type { Submission } from '../../src/sandbox/world/submission.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { OpenedDatabase, TestDatabase } from './databases.ts'
import { applyAll } from './mirror.ts'
import {
  byFirstFeedRead,
  byFullRead,
  byWebhook,
  detailFact,
  idFact,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
} from './observations.ts'

/**
 * The mirror for the answers in migrations/queries*.md and follow-changes.md: the demo's world and story at a fixed time, without faults, plus problems that a
 * demo never ends with, such as a rejected change.
 */

const ACCOUNT = 'default'
/** Start of the story. History covers four days before. */
const START_MS = Date.UTC(2026, 0, 20, 12)
const SPEED = 12

export async function openDemoScene(database: TestDatabase): Promise<OpenedDatabase> {
  const clock = new ManualClock(START_MS)
  const opened = await database.open({ clock })
  const submissions = await tellStory(opened.db, clock)
  await applyAll(opened.db, submissions.flatMap(detailsOf))
  await addTrouble(opened.db)
  return opened
}

async function tellStory(db: Db, clock: ManualClock): Promise<Submission[]> {
  const { story, world } = buildParts({ clock, startMs: START_MS, speed: SPEED })
  const watcher = new Watcher(db, clock)
  for (const submission of world.submissions(ACCOUNT).values()) await watcher.readHistory(submission)
  for (const { atMs, submissionId } of story.toState().steps) {
    clock.advance(START_MS + atMs / SPEED - clock.now())
    story.step()
    await watcher.read(world.submission(ACCOUNT, submissionId))
  }
  return [...world.submissions(ACCOUNT).values()]
}

class Watcher {
  readonly #db: Db
  readonly #clock: ManualClock
  readonly #shown = new Map<string, string>()
  #readNo = 0

  constructor(db: Db, clock: ManualClock) {
    this.#db = db
    this.#clock = clock
  }

  /** History from before the webhook endpoint, as after tracking. */
  async readHistory(submission: Submission): Promise<void> {
    if (submission.events.visible().length + submission.thread.visible().length === 0) return
    await applyAll(this.#db, [trackFact(ACCOUNT, submission.id), ...this.#news(submission, byFirstFeedRead), this.#state(submission)])
  }

  async read(submission: Submission): Promise<void> {
    await applyAll(this.#db, [...this.#news(submission, byWebhook), this.#state(submission)])
  }

  #state(submission: Submission): Observation {
    const nowMs = this.#clock.now()
    this.#readNo++
    return observedState(ACCOUNT, submission.id, submissionTruth(submission, nowMs).requirements, this.#readNo, nowMs)
  }

  /** New and changed records. Records with an earlier time have no webhook. */
  #news(submission: Submission, origin: typeof byWebhook): Observation[] {
    const now = timeFromMs(this.#clock.now())
    const originOf = ({ occurred_at }: { occurred_at: string }) => (origin === byWebhook && occurred_at < now ? byFullRead : origin)
    const isNews = (item: { id: string }) => {
      const before = this.#shown.get(item.id)
      this.#shown.set(item.id, JSON.stringify(item))
      return before !== JSON.stringify(item)
    }
    return [
      ...submission.events
        .visible()
        .filter(isNews)
        .map((event) => observedEvent(ACCOUNT, submission.id, event, originOf(event))),
      ...submission.thread
        .visible()
        .filter(isNews)
        .map((message) => observedMessage(ACCOUNT, submission.id, message, originOf(message))),
    ]
  }
}

function detailsOf(submission: Submission): Observation[] {
  const { outstanding, workspace, sessions, bind_requests, policies } = submissionTruth(submission, START_MS)
  const insuredId = submission.insuredId
  const byId = (read: IdRead, id: unknown, wire: unknown) => idFact(ACCOUNT, submission.id, read, String(id), wire, 1)
  return [
    detailFact(ACCOUNT, submission.id, 'outstanding', outstanding, 1),
    detailFact(ACCOUNT, submission.id, 'workspace', workspace, 1),
    detailFact(ACCOUNT, submission.id, 'sessions', sessions, 1),
    ...bind_requests.map((request) => byId('bind_request', request['bind_request_id'], request)),
    ...policies.map((policy) => byId('policy', policy['policy_id'], policy)),
    byId('insured', insuredId, insuredOf(insuredId, [submission])),
  ]
}

/** Problems after the end of the story, about 12:00:20. */
async function addTrouble(db: Db): Promise<void> {
  await db.write('scene', async (tx) => {
    for (const statement of [...NUMBERINGS, ...READS, ...DOCUMENTS, ...pushes()]) await tx.run(sql.raw(statement))
  })
}

const submissionOf = (insuredName: string) => `(select submission_id from submissions where insured_name = '${insuredName}')`

const NUMBERINGS = [
  `insert into sync_log_epochs (log_epoch, epoch_no, after_seq, began_at, origin, reason, server) values
    ('your log_epoch', 1, 0, '2026-01-20T08:00:00.000000Z', '', 'first', ''), ('the next', 2, 940, '2026-01-20T11:00:00.000000Z', '', 'server', '')`,
]

/** One submission was not read since the morning, without a rail; two were never reconciled. */
const READS = [
  `update submissions set ${['state', 'rail', 'quote_history', 'assessment']
    .map((part) => `${part}_read_at = '2026-01-20T12:01:00.000000Z'`)
    .join(', ')}`,
  `update submissions set rail_read_at = '2026-01-20T08:15:00.000000Z' where insured_name = 'Kowalczyk Freight Group LLC'`,
  `update sync_reads set last_read_at = '2026-01-20T12:01:00.000000Z', last_full_read_at = '2026-01-20T12:00:30.000000Z' where id = ''`,
  `update sync_reads set last_read_at = '2026-01-20T08:15:00.000000Z' where submission_id = ${submissionOf('Kowalczyk Freight Group LLC')}`,
  `insert into sync_reconciled (account, submission_id, run_id, visited_at, reconciled_at)
    select account, submission_id, 'run-1', '2026-01-20T12:02:00.000000Z', '2026-01-20T12:02:00.000000Z' from submissions
    where insured_name not like 'Kowalczyk%'`,
]

/** As in the demo, whose settings omit a carrier's host; one answer was bad, and one document is still waiting. */
const DOCUMENTS = [
  `update documents set error = 'DOCUMENT_HOSTS does not list documents.invalid; add it to fetch the document',
    tried_at = '2026-01-20T12:00:40.000000Z' where document_url like 'https:%'`,
  `update documents set error = 'document: the service answered 502; it is fetched again automatically', tried_at = '2026-01-20T12:00:50.000000Z'
    where name = 'kestrel-quote-2.pdf' and submission_id = ${submissionOf('Castañeda Transport Group LLC')}`,
  `update documents set stored_at = '2026-01-20T12:00:40.000000Z', stored_path = document_key, stored_bytes = 900, sha256 = document_key
    where error is null and not (name = 'quickwell-quote-1.pdf' and submission_id = ${submissionOf('Castañeda Transport Group LLC')})`,
]

/** The AMS has every quote except those of two submissions: one was rejected, one has no client. */
function pushes(): string[] {
  const refused = submissionOf('Bluestem Transport LLC')
  const unmapped = submissionOf('Fairmont Networks Group LLC')
  return [
    `insert into sync_destinations (destination, state, cursor, log_epoch, failures) values ('ams', 'active', 4, 'one', 0)`,
    `insert into sync_outbox (destination, account, stream, submission_id, entity, entity_id, operation, cause, seq, message_id, state, attempts,
      uncertain, queued_at)
      select 'ams', account, submission_id, submission_id, entity, entity_id, operation, cause, seq, 'message-' || seq,
        case when submission_id in (${refused}, ${unmapped}) then 'ready' else 'delivered' end, 0, 0, '2026-01-20T12:00:20.000000Z'
      from changes where entity = 'quotes' order by seq`,
    `update sync_outbox set state = 'dead', attempts = 1, status = 422, error = 'HTTP 422: the client does not exist'
      where seq = (select min(seq) from sync_outbox where submission_id = ${refused})`,
    `insert into sync_push_streams (destination, account, stream, due_at, blocked) values
      ('ams', 'default', ${refused}, '2026-01-20T12:00:20.000000Z', 'held'),
      ('ams', 'default', ${unmapped}, '2026-01-20T12:00:20.000000Z', 'unmapped')`,
  ]
}
