import type { MarketEvent, ThreadMessage } from '../../../src/sandbox/world/wire.ts'
import { uuid } from '../../tools/observations.ts'
import { ACCOUNT, type DamageRig } from './rig.ts'

export interface DamageCase {
  readonly name: string
  make(rig: DamageRig): { readonly statements: readonly string[]; readonly found: readonly string[] }
}

const text = (value: string) => `'${value.replaceAll("'", "''")}'`

function idsOf(rig: DamageRig) {
  const [truth] = rig.sandbox.truth(ACCOUNT, rig.rich)
  const [plain] = rig.sandbox.truth(ACCOUNT, rig.plain)
  const events = truth?.events as readonly MarketEvent[]
  const messages = truth?.messages as readonly ThreadMessage[]
  const lanes = truth?.requirements.rail?.lanes ?? []
  return {
    submission: rig.rich,
    here: `account = ${text(ACCOUNT)} and submission_id = ${text(rig.rich)}`,
    there: `account = ${text(ACCOUNT)} and submission_id = ${text(rig.plain)}`,
    first: String(events[0]?.id),
    declined: String(events[2]?.id),
    late: String(events[110]?.id),
    last: String(events.at(-1)?.id),
    letters: messages.map(({ id }) => id),
    quoted: String(lanes[0]?.submission_market_id),
    declinedLane: String(lanes[1]?.submission_market_id),
    plainEvent: String(plain?.events[0]?.id),
    plainLetter: String(plain?.messages[0]?.id),
    events: events.map(({ id }) => id),
  }
}

type Ids = ReturnType<typeof idsOf>

function damage(
  name: string,
  make: (ids: Ids) => { readonly statements: readonly string[]; readonly found: readonly string[] },
): DamageCase {
  return { name, make: (rig) => make(idsOf(rig)) }
}

const attachments = (letter: string | undefined) => [0, 1].map((position) => `missing thread_attachments ${letter} ${position}`)

export const deletions: readonly DamageCase[] = [
  damage('an event', ({ here, late }) => ({
    statements: [`delete from market_events where ${here} and event_id = ${text(late)}`],
    found: [`missing market_events ${late}`],
  })),
  damage('every event of two submissions', ({ here, there, events, plainEvent }) => ({
    statements: [`delete from market_events where ${here}`, `delete from market_events where ${there}`],
    found: [...events, plainEvent].map((id) => `missing market_events ${id}`),
  })),
  damage('the newest event, and that it was the newest', ({ here, last }) => ({
    statements: [
      `delete from market_events where ${here} and event_id = ${text(last)}`,
      `update submissions set last_event_at = (select max(occurred_at) from market_events where ${here}) where ${here}`,
    ],
    found: [`missing market_events ${last}`],
  })),
  damage('a message with its attachments', ({ here, letters }) => ({
    statements: ['thread_messages', 'thread_attachments'].map(
      (table) => `delete from ${table} where ${here} and message_id = ${text(String(letters[1]))}`,
    ),
    found: [`missing thread_messages ${letters[1]}`, ...attachments(letters[1])],
  })),
  damage('a message whose attachments are left', ({ here, letters }) => ({
    statements: [`delete from thread_messages where ${here} and message_id = ${text(String(letters[0]))}`],
    found: [`missing thread_messages ${letters[0]}`],
  })),
  damage('an attachment', ({ here, letters }) => ({
    statements: [`delete from thread_attachments where ${here} and message_id = ${text(String(letters[2]))} and position = 1`],
    found: [`missing thread_attachments ${letters[2]} 1`],
  })),
  damage('a lane, with all that hangs on it', ({ here, quoted }) => ({
    statements: ['lanes', 'quotes', 'source_offers'].map((table) => `delete from ${table} where ${here} and lane_id = ${text(quoted)}`),
    found: [
      `missing lanes ${quoted}`,
      ...[1, 2].map((n) => `missing quotes ${quoted} ${uuid(10, n)}`),
      `missing source_offers ${quoted} p1`,
    ],
  })),
  damage('a submission, with all that polls it', ({ there }) => ({
    statements: ['submissions', 'sync_reads'].map((table) => `delete from ${table} where ${there}`),
    found: ['missing submissions'],
  })),
  damage('a quote, an offer and a piece of history', ({ here, quoted }) => ({
    statements: [
      `delete from quotes where ${here} and quote_id = ${text(uuid(10, 2))}`,
      `delete from source_offers where ${here}`,
      `delete from quote_history where ${here}`,
    ],
    found: [`missing quotes ${quoted} ${uuid(10, 2)}`, `missing source_offers ${quoted} p1`, 'missing quote_history old:1'],
  })),
]

export const alterations: readonly DamageCase[] = [
  damage('what a submission is about', ({ here }) => ({
    statements: [
      `update submissions set insured_name = 'Another Insured', state = null, lines = '["auto"]', form_fill_active = true where ${here}`,
    ],
    found: ['different submissions (form_fill_active, insured_name, lines, state)'],
  })),
  damage('when a submission last moved', ({ here }) => ({
    statements: [`update submissions set last_event_at = '2030-01-01T00:00:00.000000Z', last_message_at = null where ${here}`],
    found: ['different submissions (last_event_at, last_message_at)'],
  })),
  damage('the later of these times', ({ here, there }) => ({
    statements: [
      `update submissions set last_activity_at = null where ${here}`,
      `update submissions set last_activity_at = '2030-01-01T00:00:00.000000Z' where ${there}`,
    ],
    found: ['different submissions (last_activity_at)', 'different submissions (last_activity_at)'],
  })),
  damage('when a submission last moved, beside its records', ({ here, there, first, plainLetter }) => ({
    statements: [
      `update submissions set last_event_at = '2030-01-01T00:00:00.000000Z' where ${here}`,
      `update market_events set detail = 'Something else' where ${here} and event_id = ${text(first)}`,
      `update submissions set last_message_at = '2020-01-01T00:00:00.000000Z' where ${there}`,
      `delete from thread_messages where ${there} and message_id = ${text(plainLetter)}`,
    ],
    found: [
      `different market_events ${first} (detail)`,
      'different submissions (last_event_at)',
      'different submissions (last_message_at)',
      `missing thread_messages ${plainLetter}`,
    ],
  })),
  damage('a submission marked as unreachable', ({ there }) => ({
    statements: [`update submissions set unreachable_since = '2026-01-01T00:00:00.000000Z' where ${there}`],
    found: ['different submissions (unreachable_since)'],
  })),
  damage('identity fields of events', ({ here, first, declined, last }) => ({
    statements: [
      `update market_events set detail = 'Something else' where ${here} and event_id = ${text(declined)}`,
      `update market_events set type = 'bound', status = 'bound', status_label = 'Bound' where ${here} and event_id = ${text(last)}`,
      `update market_events set occurred_at = '2020-01-01T00:00:00.000001Z', market_lines = '["auto", "property"]', market_name = 'X' where ${here} and event_id = ${text(first)}`,
    ],
    found: [
      `different market_events ${declined} (detail)`,
      `different market_events ${first} (market_lines, market_name, occurred_at)`,
      `different market_events ${last} (status, status_label, type)`,
    ],
  })),
  damage('an event that was emptied, and one that was filled', ({ here, declined, first }) => ({
    statements: [
      `update market_events set detail = null, lane_id = null where ${here} and event_id = ${text(declined)}`,
      `update market_events set detail = 'never said' where ${here} and event_id = ${text(first)}`,
    ],
    found: [`different market_events ${declined} (detail, lane_id)`, `different market_events ${first} (detail)`],
  })),
  damage('letters', ({ here, letters }) => ({
    statements: [
      `update thread_messages set body_text = 'forged', to_addresses = '[]' where ${here} and message_id = ${text(String(letters[0]))}`,
      `update thread_messages set subject = null, from_address = 'x@y.example', direction = 'inbound' where ${here} and message_id = ${text(String(letters[2]))}`,
    ],
    found: [
      `different thread_messages ${letters[0]} (body_text, to_addresses)`,
      `different thread_messages ${letters[2]} (direction, from_address, subject)`,
    ],
  })),
  damage('attachments', ({ here, letters }) => ({
    statements: [
      `update thread_attachments set name = 'other.exe' where ${here} and message_id = ${text(String(letters[0]))} and position = 0`,
      `update thread_attachments set download_path = '/elsewhere' where ${here} and message_id = ${text(String(letters[1]))}`,
    ],
    found: [
      `different thread_attachments ${letters[0]} 0 (name)`,
      `different thread_attachments ${letters[1]} 0 (download_path)`,
      `different thread_attachments ${letters[1]} 1 (download_path)`,
    ],
  })),
  damage('state, of every kind', ({ here, quoted, declinedLane }) => ({
    statements: [
      `update lanes set status = 'lost', bound = true, unmet_labels = '["x"]' where ${here} and lane_id = ${text(quoted)}`,
      `update quotes set total_cents = total_cents + 1, premium_display = '$0' where ${here} and quote_id = ${text(uuid(10, 1))}`,
      `update quotes set is_revision = false, lines = null where ${here} and quote_id = ${text(uuid(10, 2))}`,
      `update source_offers set document_url = 'https://elsewhere.example/', kind = 'indication' where ${here}`,
      `update quote_history set outcome = 'invalid', observed_at = null where ${here}`,
      `update lanes set market_name = null where ${here} and lane_id = ${text(declinedLane)}`,
    ],
    found: [
      `different lanes ${declinedLane} (market_name)`,
      `different lanes ${quoted} (bound, status, unmet_labels)`,
      'different quote_history old:1 (observed_at, outcome)',
      `different quotes ${quoted} ${uuid(10, 1)} (premium_display, total_cents)`,
      `different quotes ${quoted} ${uuid(10, 2)} (is_revision, lines)`,
      `different source_offers ${quoted} p1 (document_url, kind)`,
    ],
  })),
  damage('rows marked as gone that are there', ({ here, quoted, declined, letters }) => ({
    statements: [
      `update market_events set gone_at = '2026-11-01T00:00:00.000000Z' where ${here} and event_id = ${text(declined)}`,
      `update thread_messages set gone_at = '2026-11-01T00:00:00.000000Z' where ${here} and message_id = ${text(String(letters[1]))}`,
      `update lanes set gone_at = '2026-11-01T00:00:00.000000Z' where ${here} and lane_id = ${text(quoted)}`,
      `update quotes set gone_at = '2026-11-01T00:00:00.000000Z' where ${here} and quote_id = ${text(uuid(10, 1))}`,
    ],
    found: [
      `different lanes ${quoted} (gone_at)`,
      `different market_events ${declined} (gone_at)`,
      `different quotes ${quoted} ${uuid(10, 1)} (gone_at)`,
      `different thread_messages ${letters[1]} (gone_at)`,
    ],
  })),
  damage('a lane that takes its state from an event, against the rail', ({ here, quoted, first }) => ({
    statements: [
      `update lanes set state_source = 'event', state_event_id = ${text(first)}, state_occurred_at = '2026-01-01T00:00:00.000000Z' where ${here} and lane_id = ${text(quoted)}`,
    ],
    found: [`different lanes ${quoted} (state_event_id, state_occurred_at, state_source)`],
  })),
  damage('the whole object beside the columns', ({ here, first, letters, quoted }) => ({
    statements: [
      `update market_events set raw = '{"id":"x"}' where ${here} and event_id = ${text(first)}`,
      `update thread_messages set raw = '[]' where ${here} and message_id = ${text(String(letters[0]))}`,
      `update lanes set raw = '{}' where ${here} and lane_id = ${text(quoted)}`,
    ],
    found: [`different lanes ${quoted} (raw)`, `different market_events ${first} (raw)`, `different thread_messages ${letters[0]} (raw)`],
  })),
]
