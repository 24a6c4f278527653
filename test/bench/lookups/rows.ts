export interface Scale {
  readonly submissions: number
  readonly events: number
}

/** SQL differences between the databases. Functions take and return SQL expressions. */
export interface Dialect {
  /** `from` clause with `i` from `first` up to, but not including, `end`. */
  series(first: number, end: number): string
  /** A UUID of a family that ends in `n`. */
  uuid(family: number, n: string): string
  time(seconds: string): string
  concat(...parts: string[]): string
  readonly bool: (value: boolean) => string
  readonly bytes: (text: string) => string
  /** For columns of kind `raw` and `json`. */
  readonly raw: (text: string) => string
  readonly json: (text: string) => string
}

const FIRST_AT = Date.UTC(2026, 0, 5) / 1000
/** One record every six seconds: five million per year. */
const SECONDS_EACH = 6
/** One in this many submissions and records belongs to the account without recent activity. */
const QUIET_SHARE = 100
const MESSAGE_SHARE = 5
const LOST_SHARE = 20

export const BUSY = 'busy'
export const QUIET = 'quiet'
export const DESTINATION = 'agency'

export const dialects: Readonly<Record<'sqlite' | 'postgres', Dialect>> = {
  sqlite: {
    series: (first, end) => `(with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${end - 1}) select i from n)`,
    uuid: (family, n) => `printf('%08x-0000-4000-8000-%012x', ${family}, ${n})`,
    time: (seconds) => `strftime('%Y-%m-%dT%H:%M:%S.000000Z', ${FIRST_AT} + ${seconds}, 'unixepoch')`,
    concat: (...parts) => parts.map((part) => `(${part})`).join(' || '),
    bool: (value) => (value ? '1' : '0'),
    bytes: (text) => `cast(${text} as blob)`,
    raw: (text) => text,
    json: (text) => text,
  },
  postgres: {
    series: (first, end) => `generate_series(${first}::bigint, ${end - 1}) as n(i)`,
    uuid: (family, n) => `lpad(to_hex(${family}), 8, '0') || '-0000-4000-8000-' || lpad(to_hex(${n}), 12, '0')`,
    time: (seconds) => `to_timestamp(${FIRST_AT} + ${seconds})`,
    concat: (...parts) => parts.map((part) => `(${part})::text`).join(' || '),
    bool: (value) => String(value),
    bytes: (text) => `convert_to(${text}, 'UTF8')`,
    raw: (text) => `(${text})::json`,
    json: (text) => `(${text})::jsonb`,
  },
}

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

/** Submissions of an account, evenly spread. */
export function someSubmissions({ submissions }: Scale, account: string, count: number): number[] {
  const quiet = Math.floor(submissions / QUIET_SHARE)
  const [first, all] = account === QUIET ? [submissions - quiet, quiet] : [0, submissions - quiet]
  return Array.from({ length: count }, (_, n) => first + Math.floor((n * all) / count))
}

/** A year of a brokerage, in order of filling. */
export function tables(d: Dialect, scale: Scale): Filled[] {
  const { submissions, events } = scale
  const busy = submissions - Math.floor(submissions / QUIET_SHARE)
  const accountOf = (n: string) => `case when ${n} < ${busy} then '${BUSY}' else '${QUIET}' end`
  const placed = (n: string) => ({ account: accountOf(n), submission_id: d.uuid(9, n) })
  const submission = placed('i')
  const ofRecord = placed(submissionOf(scale, 'i'))
  const recordAt = d.time(`i * ${SECONDS_EACH}`)
  const lastAt = d.time(`(${events} - (i * 7919) % ${events}) * ${SECONDS_EACH}`)
  const text = `'${'Text of some length that says little. '.repeat(4)}'`
  const isNewest = `i >= ${events - 1_000}`
  const messageId = d.uuid(7, '(i * 2654435761) % 4294967296')
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
      rows: 1,
      values: {
        destination: `'${DESTINATION}'`,
        state: `'active'`,
        cursor: String(events),
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
        marketing_status: `'matched'`,
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
    {
      table: 'lanes',
      rows: submissions,
      values: {
        ...submission,
        lane_id: d.uuid(3, 'i'),
        state_source: `'rail'`,
        bound: d.bool(false),
        lines: d.json(`'["property"]'`),
        // One common market and status, and rare ones.
        market_name: `case when i % 1000 = 7 then 'Rare Mutual' else 'Market' end`,
        status: `case when i % 1000 = 9 then 'declined' else 'in_progress' end`,
        chip: `case i % 10 when 0 then 'needs_info' when 1 then 'not_available' when 2 then 'in_progress' else 'quoted' end`,
      },
    },
    {
      table: 'quotes',
      rows: submissions,
      values: {
        ...submission,
        lane_id: d.uuid(3, 'i'),
        quote_id: d.uuid(4, 'i'),
        total_cents: '1000 + i',
        first_seen_at: lastAt,
        raw: d.raw(`'{}'`),
      },
    },
    {
      table: 'market_events',
      rows: events,
      values: {
        ...ofRecord,
        event_id: d.uuid(1, 'i'),
        type: `'status_changed'`,
        occurred_at: recordAt,
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
        value: `case i when 0 then ${events} else ${(FIRST_AT + events * SECONDS_EACH) * 1000} end`,
      },
    },
    {
      table: 'sync_outbox',
      rows: events,
      values: {
        outbox_id: 'i + 1',
        destination: `'${DESTINATION}'`,
        ...ofRecord,
        stream: ofRecord.submission_id,
        entity: `'market_events'`,
        entity_id: keyOfEvent(d, scale),
        operation: `'insert'`,
        cause: `'webhook'`,
        seq: 'i + 1',
        message_id: messageId,
        state: `case when ${isNewest} then 'ready' when i % 50000 = 7 then 'dead' else 'delivered' end`,
        attempts: '1',
        uncertain: '0',
        queued_at: recordAt,
        tried_at: recordAt,
        settled_at: recordAt,
      },
    },
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

function keyOfEvent(d: Dialect, scale: Scale): string {
  return d.concat(`'["'`, d.uuid(9, submissionOf(scale, 'i')), `'","'`, d.uuid(1, 'i'), `'"]'`)
}

/** The change log: one row per event. */
function changesOf(d: Dialect, scale: Scale): Filled {
  const busy = scale.submissions - Math.floor(scale.submissions / QUIET_SHARE)
  return {
    table: 'changes',
    rows: scale.events,
    values: {
      seq: 'i + 1',
      account: `case when ${submissionOf(scale, 'i')} < ${busy} then '${BUSY}' else '${QUIET}' end`,
      submission_id: d.uuid(9, submissionOf(scale, 'i')),
      entity: `'market_events'`,
      entity_id: keyOfEvent(d, scale),
      operation: `'insert'`,
      changed_at: d.time(`i * ${SECONDS_EACH}`),
      cause: `'webhook'`,
      after: d.json(`'{"type":"status_changed"}'`),
    },
  }
}
