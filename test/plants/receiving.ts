import { simulated } from '../simulation/plants.ts'
import type { Plants } from './plant.ts'

/** From a signed request to rows of the mirror: receive, inbox, work, apply. */
export const receiving: Plants = {
  'a delivery that was signed long ago is taken': {
    file: 'upstream/webhook/signature.ts',
    edits: [["if (Math.abs(Math.floor(atMs / 1000) - timestamp) > TOLERANCE_S) return 'stale_timestamp'\n", '']],
    foundBy: ['upstream/webhook/signature.test.ts'],
  },
  'a delivery that was signed in the future is taken': {
    file: 'upstream/webhook/signature.ts',
    edits: [['Math.abs(Math.floor(atMs / 1000) - timestamp) > TOLERANCE_S', 'Math.floor(atMs / 1000) - timestamp > TOLERANCE_S']],
    foundBy: ['upstream/webhook/signature.test.ts'],
  },
  'a body is re-encoded before its signature is verified': {
    file: 'upstream/webhook/signature.ts',
    edits: [
      ['key.sign(claim.deliveryId, signedAt, body)', 'key.sign(claim.deliveryId, signedAt, rewritten(body))'],
      [
        'function isAmong(',
        `function rewritten(body: Buffer): Buffer {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8'))))
  } catch {
    return body
  }
}

function isAmong(`,
      ],
    ],
    foundBy: ['upstream/webhook/signature.test.ts'],
  },
  'a body without an announced length may be of any length': {
    file: 'receive/body.ts',
    edits: [["if (length + chunk.length > limitBytes) return finish('too_large')\n", '']],
    foundBy: ['receive/body.test.ts'],
  },
  'a delivery is answered before its commit': {
    ...simulated['a delivery is answered before its commit'],
    foundBy: ['receive/group-commit.test.ts'],
  },
  'a delivery that was not stored is answered 204': {
    file: 'receive/receiver.ts',
    edits: [["'a delivery was not stored')\n    return answers.unavailable", "'a delivery was not stored')\n    return answers.stored"]],
    foundBy: ['receive/receiver.test.ts'],
  },
  'a delivery that was done is worked again when it is repeated': {
    file: 'store/inbox/repeats.ts',
    edits: [["and delivery_id = ${delivery.deliveryId} and state = 'dead'`", 'and delivery_id = ${delivery.deliveryId}`']],
    foundBy: ['store/inbox/append.test.ts'],
  },
  'a delivery that was done is worked again when it is repeated, on Postgres': {
    file: 'store/inbox/append.ts',
    edits: [["where sync_inbox.state = 'dead' and (", 'where (']],
    foundBy: ['store/inbox/append.test.ts'],
  },
  'a delivery is claimed while another process works on it': {
    file: 'store/inbox/work.ts',
    edits: [["state = 'ready' and available_at <= ${dbTime(tx)}\n", "state = 'ready'\n"]],
    foundBy: ['store/inbox/work.test.ts'],
  },
  'a delivery settles without its lease': {
    file: 'store/inbox/work.ts',
    edits: [["key: ['inbox_id', 'lease_token']", "key: ['inbox_id']"]],
    foundBy: ['store/inbox/work.test.ts', 'work/leases.test.ts'],
  },
  'what a dead process claimed of the inbox stays claimed': {
    file: 'store/engine/leased.ts',
    edits: [['= ${`${processId} `} and', "= ${'nobody'} and"]],
    foundBy: ['store/upkeep/dead-processes.test.ts'],
  },
  'a delivery is dead one attempt too late': {
    file: 'work/worker.ts',
    edits: [['delivery.attempts + 1 >= MAX_ATTEMPTS', 'delivery.attempts >= MAX_ATTEMPTS']],
    foundBy: ['work/poisoned.test.ts'],
  },
  'a delivery that cannot be applied holds up its whole batch': {
    file: 'work/worker.ts',
    edits: [['else for (const one of batch) await this.#work([one])', 'else for (const one of batch) await this.#reschedule(one, error)']],
    foundBy: ['work/poisoned.test.ts'],
  },
  'a delivery replaces what a feed has shown': {
    file: 'model/merge.ts',
    edits: [['if (!hasValue(stored[column]) || fromFeed) row[column] = value', 'row[column] = value']],
    foundBy: ['model/merge.test.ts'],
  },
  'an older view overwrites a newer one': {
    ...simulated['an older view overwrites a newer one'],
    foundBy: ['apply/requirements.test.ts', 'apply/details.test.ts'],
  },
  'an older event sets a lane': { ...simulated['an older event sets a lane'], foundBy: ['apply/market-events.test.ts'] },
  'a lane that was not named yet requests no full re-read': {
    ...simulated['a lane that was not named yet requests no full re-read'],
    foundBy: ['apply/requirements.test.ts', 'poll/full-re-read.test.ts'],
  },
  'what a view no longer shows is not marked as gone': {
    file: 'apply/state.ts',
    edits: [["if (!hasValue(row['gone_at']) && decides(row)) set.put(", "if (hasValue(row['gone_at']) && decides(row)) set.put("]],
    foundBy: ['apply/details.test.ts'],
  },
}
