import { sql } from 'kysely'
import { ManualClock } from '../../src/base/clock.ts'
import type { Json } from '../../src/model/json.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { applyAll } from './mirror.ts'
import {
  at,
  byPoll,
  byWebhook,
  detailFact,
  idFact,
  observedEvent,
  observedMessage,
  observedState,
  START_MS,
  uuid,
  wireById,
  wireDetails,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from './observations.ts'

/** A small mirror with all kinds of rows: two submissions of the account `acme`, the second unread. */

const BAKERY = uuid(9, 1)
const ROOFING = uuid(9, 2)

export const sceneClock = new ManualClock(START_MS + 3_600_000)

export async function fillScene(db: Db): Promise<void> {
  const quote = (n: number, total_cents: number): Record<string, Json> => ({
    quote_id: uuid(7, n),
    premium_display: `$${total_cents / 100}`,
    total_cents,
    lines: ['general_liability'],
    is_revision: n > 1,
  })
  const lanes = [
    wireLane(1, { market_name: 'Alder Point', status_label: 'Quoted', chip: 'quoted', quotes: [quote(1, 125_000), quote(2, 118_000)] }),
    wireLane(2, { market_name: 'Birch Mutual', status_label: 'Needs information', gapped: true, unmet_labels: ['Loss runs', 'Payroll'] }),
  ]
  const markets = [
    { market_name: 'Alder Point', ready: true, needs_from_you: ['Nothing'], hedge_obtains: [], lane_id: uuid(3, 1) },
    { market_name: 'Birch Mutual', ready: false, needs_from_you: ['Loss runs', 'Payroll'], hedge_obtains: [], lane_id: uuid(3, 2) },
  ]
  const market = { name: 'Alder Point', lane_id: uuid(3, 1) }
  await applyAll(db, [
    observedEvent('acme', BAKERY, wireEvent(1, { type: 'market_attached', status_label: 'Attached' }, market), byWebhook),
    observedEvent('acme', BAKERY, wireEvent(30, { type: 'quote_received', status_label: 'Quoted' }, market), byPoll),
    observedMessage('acme', BAKERY, wireMessage(31, { subject: 'Your quotes' }), byWebhook),
    observedState('acme', BAKERY, wireRequirements(BAKERY, lanes, { forms: ['acord_125', 'acord_126'], markets }), 1),
    detailFact('acme', BAKERY, 'outstanding', { ...wireDetails(BAKERY).outstanding, markets_total: 1 }, 1),
    detailFact('acme', BAKERY, 'workspace', wireDetails(BAKERY).workspace, 1),
    idFact('acme', BAKERY, 'bind_request', wireById(BAKERY).ids.bind_request, { ...wireById(BAKERY).bind_request, policy_id: null }, 1),
    observedMessage('acme', ROOFING, wireMessage(5, { subject: 'We received your submission', attachments: [] }), byWebhook),
  ])
  await db.write('scene', async (tx) => {
    for (const statement of extras) await tx.run(sql.raw(statement))
  })
}

const extras = [
  `insert into sync_log_epochs (log_epoch, epoch_no, after_seq, began_at, origin, reason, server) values
    ('your log_epoch', 1, 0, '2026-01-05T08:00:00.000000Z', '', 'first', ''), ('the next', 2, 9, '2026-01-05T09:00:00.000000Z', '', 'server', '')`,
  `update sync_reads set last_read_at = '2026-01-05T12:55:00.000000Z', last_full_read_at = '2026-01-05T12:40:00.000000Z'
    where submission_id = '${BAKERY}'`,
  `insert into sync_reconciled (account, submission_id, run_id, visited_at, reconciled_at)
    values ('acme', '${BAKERY}', 'run-1', '2026-01-05T12:50:00.000000Z', '2026-01-05T12:50:00.000000Z')`,
  `insert into sync_destinations (destination, state, cursor, log_epoch, failures)
    values ('agency', 'active', 4, 'one', 0)`,
  ...[
    [1, 'delivered', 'null'],
    [2, 'dead', "'HTTP 422: the client does not exist'"],
    [3, 'ready', 'null'],
  ].map(
    ([
      seq,
      state,
      error,
    ]) => `insert into sync_outbox (destination, account, stream, submission_id, entity, entity_id, operation, cause, seq,
      message_id, state, attempts, uncertain, queued_at, error) values ('agency', 'acme', '${BAKERY}', '${BAKERY}', 'market_events',
      '["${BAKERY}","${uuid(1, Number(seq))}"]', 'insert', 'webhook', ${seq}, 'message-${seq}', '${state}', 0, 0, '${at(40)}', ${error})`,
  ),
]
