import { type Dialect, FIRST_AT } from './dialect.ts'

export interface Scale {
  readonly submissions: number
  readonly events: number
  /** Changes that wait for a suspended destination. */
  readonly queued: number
}

/** One record every six seconds: five million per year. */
export const SECONDS_EACH = 6
/** One in this many submissions and records belongs to the account without recent activity. */
const QUIET_SHARE = 100
const MESSAGE_SHARE = 5
const LOST_SHARE = 20
/** Per submission. */
const LANES = 4
const QUOTES = 2
const DOCUMENTS = 5
/** Changes per event. */
export const CHANGES = 2
/** One submission in this many is bound. */
const BOUND_SHARE = 10

export const BUSY = 'busy'
export const QUIET = 'quiet'
export const DESTINATION = 'agency'
/** Suspended, with a queue. */
export const SUSPENDED = 'archive'

interface Filled {
  readonly table: string
  readonly rows: number
  readonly values: Readonly<Record<string, string>>
}

/** The submission of the i-th record; the oldest records belong to the inactive account. */
export function submissionOf({ submissions, events }: Scale, i: string): string {
  const quiet = Math.floor(submissions / QUIET_SHARE)
  const busy = submissions - quiet
  return `(case when ${i} < ${Math.floor(events / QUIET_SHARE)} then ${busy} + ${i} % ${quiet} else (${i} * 7919 % ${events}) % ${busy} end)`
}

/** The number of the i-th record among those of its submission; nine for all of the inactive account. */
function rankOf({ submissions, events }: Scale, i: string): string {
  const quiet = Math.floor(submissions / QUIET_SHARE)
  return `(case when ${i} < ${Math.floor(events / QUIET_SHARE)} then 9 else (${i} * 7919 % ${events}) / ${submissions - quiet} end)`
}

/** Submissions of an account, evenly spread. */
export function someSubmissions({ submissions }: Scale, account: string, count: number): number[] {
  const quiet = Math.floor(submissions / QUIET_SHARE)
  const [first, all] = account === QUIET ? [submissions - quiet, quiet] : [0, submissions - quiet]
  return Array.from({ length: count }, (_, n) => first + Math.floor((n * all) / count))
}

/** A year of a brokerage, in order of filling. */
export function tables(d: Dialect, scale: Scale): Filled[] {
  const { submissions, events } = scale
  const placed = (n: string) => placedIn(d, scale, n)
  const submission = placed('i')
  const ofRecord = placed(submissionOf(scale, 'i'))
  const recordAt = d.time(`i * ${SECONDS_EACH}`)
  const rank = rankOf(scale, 'i')
  const lastAt = d.time(`(${events} - (i * 7919) % ${events}) * ${SECONDS_EACH}`)
  const text = `'${'Text of some length that says little. '.repeat(4)}'`
  const isNewest = `i >= ${events - 1_000}`
  const messages = Math.floor(events / MESSAGE_SHARE)
  const lost = Math.floor(events / LOST_SHARE)
  // Every fifth event has a message, and every twentieth came without a webhook; never the same offset.
  const nth = (share: number) => `(i * ${share} + i % ${share})`
  const [ofMessage, messageAt] = [placed(submissionOf(scale, nth(MESSAGE_SHARE))), d.time(`${nth(MESSAGE_SHARE)} * ${SECONDS_EACH} + 3`)]
  const [ofLost, lostAt] = [placed(submissionOf(scale, nth(LOST_SHARE))), d.time(`${nth(LOST_SHARE)} * ${SECONDS_EACH}`)]
  const reads = ['events', 'thread', 'requirements'].map((read): Filled => {
    const numbers = {
      request_no: '0',
      cursor_no: '1',
      issued_no: '1',
      applied_no: '1',
      failures: '0',
      not_found: '0',
      stalled_feed_reads: '0',
    }
    const times = { due_at: lastAt, active_at: lastAt, last_read_at: lastAt, last_changed_at: lastAt, last_full_read_at: lastAt }
    return {
      table: 'sync_reads',
      rows: submissions,
      values: { ...submission, read: `'${read}'`, id: `''`, rank: '1', ...numbers, ...times },
    }
  })
  return [
    {
      table: 'sync_accounts',
      rows: 2,
      values: { account: `case when i = 0 then '${BUSY}' else '${QUIET}' end`, state: `'active'`, sweep_wanted: '0' },
    },
    {
      table: 'sync_destinations',
      rows: 2,
      values: {
        destination: `case when i = 0 then '${DESTINATION}' else '${SUSPENDED}' end`,
        state: `case when i = 0 then 'active' else 'suspended' end`,
        cursor: String(events * CHANGES),
        log_epoch: `'bench'`,
        failures: '0',
      },
    },
    {
      table: 'submissions',
      rows: submissions,
      values: {
        ...submission,
        insured_name: d.concat(`'Insured '`, 'i', `case when i % 1000 = 11 then ' Bakery' else ' Trading' end`, `' LLC'`),
        tracked_at: d.time('0'),
        tracked_via: `'webhook'`,
        form_fill_active: d.bool(false),
        effective_date: d.date(`(i * 86400 / 300)`),
        marketing_status: `'matched'`,
        // One in 500 is unreachable.
        unreachable_since: `case when i % 500 = 3 then ${lastAt} end`,
        last_event_at: lastAt,
        last_message_at: lastAt,
        last_activity_at: lastAt,
        raw: d.raw(d.concat(`'{"text":"'`, text, `'"}'`)),
      },
    },
    ...reads,
    {
      table: 'sync_reconciled',
      rows: submissions,
      values: { ...submission, run_id: `'run'`, visited_at: lastAt, reconciled_at: lastAt },
    },
    ...ofRail(d, scale, lastAt),
    ...searchWordsOf(d, scale),
    {
      table: 'market_events',
      rows: events,
      values: {
        ...ofRecord,
        event_id: d.uuid(1, 'i'),
        type: `case when ${rank} < ${LANES} then 'market_attached' when ${rank} < ${2 * LANES} then 'quote_received'
          when ${rank} = 8 and ${submissionOf(scale, 'i')} % ${BOUND_SHARE} = 0 then 'bound' else 'status_changed' end`,
        occurred_at: recordAt,
        lane_id: d.uuid(3, `(${submissionOf(scale, 'i')} * ${LANES} + ${rank} % ${LANES})`),
        market_name: `'Market'`,
        status: `'in_progress'`,
        first_seen_at: recordAt,
        first_seen_via: `'webhook'`,
        raw: d.raw(d.concat(`'{"detail":"'`, text, `'"}'`)),
      },
    },
    {
      table: 'thread_messages',
      rows: messages,
      values: {
        ...ofMessage,
        message_id: d.uuid(2, 'i'),
        channel: `'email'`,
        direction: `'outbound'`,
        kind: `'update'`,
        occurred_at: messageAt,
        subject: `'Update'`,
        body_text: text,
        first_seen_at: messageAt,
        first_seen_via: `'webhook'`,
        raw: d.raw(`'{}'`),
      },
    },
    {
      table: 'sync_arrivals',
      rows: lost,
      values: { ...ofLost, entity: `'market_events'`, record_id: d.uuid(1, nth(LOST_SHARE)), way: `'feed'`, first_at: lostAt },
    },
    {
      table: 'arrival_counts',
      rows: 20_000,
      values: {
        account: `case when i % 2 = 0 then '${BUSY}' else '${QUIET}' end`,
        hour: d.time('(i / 2) * 3600'),
        entity: `'market_events'`,
        webhook: '250',
        poll: '3',
        backfill: '0',
        reconcile: '0',
        lost: '1',
      },
    },
    changesOf(d, scale),
    {
      table: 'sync_counters',
      rows: 3,
      values: {
        account: `case i when 0 then '' when 1 then '${BUSY}' else '${QUIET}' end`,
        name: `case i when 0 then 'arrival_counts_mark' else 'lost_webhooks_mark' end`,
        label: `''`,
        // The log and all arrivals are already counted, as after a year of operation.
        value: `case i when 0 then ${events * CHANGES} else ${(FIRST_AT + events * SECONDS_EACH) * 1000} end`,
      },
    },
    ...outboxOf(d, scale),
    {
      table: 'sync_inbox',
      rows: events,
      values: {
        inbox_id: 'i + 1',
        account: ofRecord.account,
        delivery_id: d.concat(`'msg_'`, '(i * 2654435761) % 4294967296', `'_'`, 'i'),
        received_at: recordAt,
        secret: '1',
        attempts: '1',
        available_at: recordAt,
        settled_at: recordAt,
        kind: `'submission.event'`,
        state: `case when ${isNewest} then 'ready' when i % 50000 = 7 then 'dead' when i % 10000 = 9 then 'aside' else 'done' end`,
        submission_id: `case when ${isNewest} then null else ${ofRecord.submission_id} end`,
        headers: `'{}'`,
        body: d.bytes(text),
      },
    },
  ]
}

/** Lanes, quotes, and what belongs to binding, each with the latest record's time of its submission. */
function ofRail(d: Dialect, scale: Scale, lastAt: string): Filled[] {
  const { submissions } = scale
  const lane = (n: string) => ({ ...placedIn(d, scale, `(${n} / ${LANES})`), lane_id: d.uuid(3, n) })
  const ofLane = lane('i')
  const ofQuote = lane(`(i / ${QUOTES} * ${LANES} + i % ${QUOTES})`)
  const bound = `(i * ${BOUND_SHARE})`
  const ofBound = placedIn(d, scale, bound)
  const isBound = `i % ${LANES * BOUND_SHARE} = 0`
  const bounds = Math.floor(submissions / BOUND_SHARE)
  const at = (n: string) => d.time(`(${scale.events} - (${n} * 7919) % ${scale.events}) * ${SECONDS_EACH}`)
  const raw = d.raw(`'{}'`)
  return [
    {
      table: 'lanes',
      rows: submissions * LANES,
      values: {
        ...ofLane,
        state_source: `'rail'`,
        bound: d.whether(isBound),
        lines: d.json(`'["property"]'`),
        // Common markets and one status, and rare ones.
        market_name: d.concat(`case when i % 4000 = 7 then 'Rare Mutual' else 'Market ' end`, `i % 12`),
        status: `case when i % 4000 = 9 then 'declined' else 'in_progress' end`,
        chip: `case when ${isBound} then 'bound' when i / ${LANES} % 10 = 1 then 'needs_info' when i / ${LANES} % 10 = 2 then 'not_available'
          when i / ${LANES} % 10 = 3 then 'in_progress' else 'quoted' end`,
      },
    },
    {
      table: 'quotes',
      rows: submissions * QUOTES,
      values: { ...ofQuote, quote_id: d.uuid(4, 'i'), total_cents: '1000 + i', first_seen_at: at(`(i / ${QUOTES})`), raw },
    },
    {
      table: 'bind_requests',
      rows: bounds,
      values: {
        ...ofBound,
        bind_request_id: d.uuid(5, 'i'),
        status: `case when i % 10 = 0 then 'requested' else 'bound' end`,
        quote_id: d.uuid(4, `(${bound} * ${QUOTES})`),
        requested_at: at(bound),
        policy_id: d.uuid(6, 'i'),
        raw,
      },
    },
    {
      table: 'bind_contingencies',
      rows: bounds,
      values: {
        ...ofBound,
        bind_request_id: d.uuid(5, 'i'),
        contingency_id: `'signature'`,
        label: `'Signed application'`,
        status: `'pending'`,
        raw,
      },
    },
    {
      table: 'policies',
      rows: bounds,
      values: { account: ofBound.account, policy_id: d.uuid(6, 'i'), submission_id: ofBound.submission_id, policy_number: `'P'`, raw },
    },
    {
      table: 'outstanding_items',
      rows: submissions,
      values: { ...placedIn(d, scale, 'i'), item_key: `'loss_runs'`, label: `'Loss runs'`, markets: d.json(`'["Market 1"]'`), raw },
    },
    {
      table: 'market_readiness',
      rows: submissions,
      values: {
        ...placedIn(d, scale, 'i'),
        readiness_key: `'market'`,
        market_name: `'Market 1'`,
        ready: d.whether('i % 2 = 0'),
        needs_from_you: d.json(`'["a photo"]'`),
        raw,
      },
    },
    {
      table: 'documents',
      rows: submissions * DOCUMENTS,
      values: {
        account: placedIn(d, scale, `(i / ${DOCUMENTS})`).account,
        document_key: d.uuid(8, '(i * 2654435761) % 4294967296'),
        submission_id: placedIn(d, scale, `(i / ${DOCUMENTS})`).submission_id,
        name: d.concat(`'Document '`, 'i', `'.pdf'`),
        created_at: lastAt,
        stored_at: `case when i % 1000 < 990 then ${lastAt} end`,
        stored_bytes: `case when i % 1000 < 990 then 50000 end`,
        error: `case when i % 1000 = 995 then 'HTTP 404' end`,
      },
    },
  ]
}

/** Words of the insured's names, and the counts of records. */
function searchWordsOf(d: Dialect, scale: Scale): Filled[] {
  const { submissions, events } = scale
  const number = `(i / 4)`
  const word = `case i % 4 when 0 then 'insured' when 1 then ${d.concat(number)} when 2 then
    case when ${number} % 1000 = 11 then 'bakery' else 'trading' end else 'llc' end`
  const counts = { events: String(Math.floor(events / submissions)), messages: String(Math.floor(events / submissions / MESSAGE_SHARE)) }
  return [
    { table: 'sync_search_words', rows: submissions * 4, values: { ...placedIn(d, scale, number), word } },
    { table: 'sync_record_counts', rows: submissions, values: { ...placedIn(d, scale, 'i'), ...counts } },
  ]
}

/** A push of each event to one destination, and the queue of a suspended one. */
function outboxOf(d: Dialect, scale: Scale): Filled[] {
  const { submissions, events, queued } = scale
  const isNewest = `i >= ${events - 1_000}`
  const at = d.time(`i * ${SECONDS_EACH}`)
  const row = (n: string) => {
    const of = placedIn(d, scale, submissionOf(scale, n))
    return { ...of, stream: of.submission_id, entity: `'market_events'`, entity_id: keyOfEvent(d, scale, n), operation: `'insert'` }
  }
  const waiting = `(i * ${Math.floor(events / Math.max(queued, 1))})`
  const common = { cause: `'webhook'`, uncertain: '0' }
  return [
    {
      table: 'sync_outbox',
      rows: events,
      values: {
        ...row('i'),
        ...common,
        outbox_id: 'i + 1',
        destination: `'${DESTINATION}'`,
        seq: `i * ${CHANGES} + 1`,
        message_id: d.uuid(7, '(i * 2654435761) % 4294967296'),
        state: `case when ${isNewest} then 'ready' when i % 50000 = 7 then 'dead' else 'delivered' end`,
        error: `case when i % 50000 = 7 then 'HTTP 422: the client does not exist' end`,
        attempts: '1',
        queued_at: at,
        tried_at: at,
        settled_at: at,
      },
    },
    {
      table: 'sync_outbox',
      rows: queued,
      values: {
        ...row(waiting),
        ...common,
        outbox_id: `${events} + i + 1`,
        destination: `'${SUSPENDED}'`,
        seq: `${waiting} * ${CHANGES} + 1`,
        message_id: d.uuid(11, '(i * 2654435761) % 4294967296'),
        state: `'ready'`,
        attempts: '0',
        queued_at: d.time(`${waiting} * ${SECONDS_EACH}`),
      },
    },
    {
      table: 'sync_push_streams',
      rows: Math.min(queued, submissions),
      values: { ...streamOf(d, scale), destination: `'${SUSPENDED}'`, due_at: d.time('0') },
    },
  ]
}

function streamOf(d: Dialect, scale: Scale) {
  const { account, submission_id: stream } = placedIn(d, scale, 'i')
  return { account, stream }
}

/** Account and id of the n-th submission. */
function placedIn(d: Dialect, { submissions }: Scale, n: string) {
  const busy = submissions - Math.floor(submissions / QUIET_SHARE)
  return { account: `case when ${n} < ${busy} then '${BUSY}' else '${QUIET}' end`, submission_id: d.uuid(9, n) }
}

function keyOfEvent(d: Dialect, scale: Scale, i: string): string {
  return d.concat(`'["'`, d.uuid(9, submissionOf(scale, i)), `'","'`, d.uuid(1, i), `'"]'`)
}

/** The change log: each event, and an update of its submission. */
function changesOf(d: Dialect, scale: Scale): Filled {
  const event = `(i / ${CHANGES})`
  const of = placedIn(d, scale, submissionOf(scale, event))
  return {
    table: 'changes',
    rows: scale.events * CHANGES,
    values: {
      seq: 'i + 1',
      ...of,
      // Some of lanes and quotes, for readers that follow these.
      entity: `case when i % 2 = 0 then 'market_events' when i % 20 = 1 then 'lanes' when i % 20 = 3 then 'quotes' else 'submissions' end`,
      entity_id: `case when i % 2 = 0 then ${keyOfEvent(d, scale, event)} else ${d.concat(`'["'`, of.submission_id, `'"]'`)} end`,
      operation: `case when i % 2 = 0 then 'insert' else 'update' end`,
      changed_at: d.time(`${event} * ${SECONDS_EACH}`),
      cause: `'webhook'`,
      after: d.json(`'{"type":"status_changed"}'`),
    },
  }
}
