import { simulated } from '../simulation/plants.ts'
import type { Plants } from './plant.ts'

/** From the change log to the destinations. */
export const pushing: Plants = {
  'history goes to a destination that did not ask for it': {
    file: 'push/queue/filter.ts',
    edits: [["(destination.backfill || change.cause !== 'backfill')", "(destination.backfill || change.cause !== '')"]],
    foundBy: ['push/queue/filter.test.ts'],
  },
  'the rows of a stream are sent in any order': {
    ...simulated['the rows of a stream are sent in any order'],
    foundBy: ['store/outbox/work.test.ts', 'push/send/streams.test.ts'],
  },
  'rows are queued in the opposite order, on Postgres': {
    file: 'store/outbox/fan-out.ts',
    edits: [
      [
        'as given(place bigint, ${sql.join(typed)})\n    order by place`',
        'as given(place bigint, ${sql.join(typed)})\n    order by place desc`',
      ],
    ],
    foundBy: ['push/queue/fan-out.test.ts'],
  },
  'a push settles without its lease': {
    ...simulated['a push settles without its lease'],
    foundBy: ['store/outbox/work.test.ts', 'push/send/settler.test.ts'],
  },
  'a stream of a process that died is never due again': {
    ...simulated['claims of a killed process are never released'],
    foundBy: ['store/outbox/work.test.ts'],
  },
  'a stream that must wait is due immediately, on Postgres': {
    file: 'store/outbox/work.ts',
    edits: [["clock_timestamp() + given.in_ms * interval '1 millisecond'", 'clock_timestamp()']],
    foundBy: ['store/outbox/work.test.ts'],
  },
  'a stream is claimed while another process sends it': {
    file: 'store/outbox/work.ts',
    edits: [
      [
        'claimedStreams.select(tx, { where, limit }), { leaseMs: claim.leaseMs })',
        'claimedStreams.select(tx, { where, limit }), { leaseMs: 0 })',
      ],
    ],
    foundBy: ['store/outbox/work.test.ts'],
  },
  'a message has another id on each attempt': {
    file: 'push/kinds/webhook.ts',
    edits: [
      [
        'outcomeOf(await send(item.messageId, changeMessage(item), signal), idempotent)',
        'outcomeOf(await send(randomUUID(), changeMessage(item), signal), idempotent)',
      ],
    ],
    foundBy: ['push/kinds/webhook.test.ts'],
  },
  'an endpoint that is gone for good is tried again': {
    file: 'push/contract/outcomes.ts',
    edits: [["retry: status === 410 ? 'manually' : 'soon'", "retry: 'soon'"]],
    foundBy: ['push/kinds/webhook.test.ts'],
  },
  'a batch holds several changes of a submission, each answered by itself': {
    file: 'push/send/batch-loop.ts',
    edits: [['destination.idempotent && !this.#hasGroups ?', 'destination.idempotent ?']],
    foundBy: ['push/send/batch-loop.test.ts'],
  },
  'one result too few for a batch counts for those that it has': {
    file: 'push/http/judge.ts',
    edits: [['!Array.isArray(results) || results.length !== count', '!Array.isArray(results)']],
    foundBy: ['push/http/batch.test.ts'],
  },
  'a remark of a destination repeats a secret': {
    file: 'push/kinds/redacting.ts',
    edits: [['return outcome.detail === null ? outcome : { ...outcome, detail: known.maskText(outcome.detail) }', 'return outcome']],
    foundBy: ['push/kinds/redacting.test.ts'],
  },
  'a row that was refused is sent again before the pause is over': {
    file: 'push/send/attempt-plan.ts',
    edits: [['Math.round(Math.max(jittered, outcome.retryAfterMs ?? 0))', 'Math.round(jittered)']],
    foundBy: ['push/send/attempt-plan.test.ts'],
  },
  'a destination that asked for a pause gets the next row': {
    file: 'push/send/destination-gate.ts',
    edits: [['if (pauseMs > 0 && !this.#isProbe) this.#pause(pauseMs)\n', '']],
    foundBy: ['push/send/destination-gate.test.ts'],
  },
  'personal columns go out unasked': {
    file: 'push/send/item.ts',
    edits: [['const after = strip(row.entity, row.after)', 'const after = row.after']],
    foundBy: ['push/send/item.test.ts'],
  },
  'a ticket of AMS360 that was refused is used again': {
    file: 'push/ams360/notes.ts',
    edits: [['this.#tickets.forget(ticket)\n', '']],
    foundBy: ['push/ams360/ams360.test.ts'],
  },
  'a cell of a file may be a formula behind blanks': {
    file: 'base/csv-text.ts',
    edits: [["(value.startsWith('\\n') || HIDDEN_FORMULA.test(value) ? `'${value}` : value)", 'value']],
    foundBy: ['push/file/csv.test.ts'],
  },
  'a document is copied although its bytes are others': {
    file: 'push/file/copied-documents.ts',
    edits: [['if (written.sha256 !== sha256) {', 'if (written.sha256 === undefined) {']],
    foundBy: ['push/file/documents.test.ts'],
  },
}
