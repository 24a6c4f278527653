import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { type Plant, type Plants, planted } from '../plants/plant.ts'

const BEGIN_APPLY = "await inApplyTransaction(db, observer, 'inbox-apply', async (transaction) => {"
const BEGIN_PAGE = "return await inApplyTransaction(o.db, o.observer, 'feed-page', async (transaction) => {"

export const simulated = {
  'a delivery is answered before its commit': {
    file: 'receive/group-commit.ts',
    edits: [
      [
        'outcomes = await appender.append(batch.map((waiting) => waiting.delivery))',
        'void appender.append(batch.map((waiting) => waiting.delivery)); outcomes = batch.map(() => null)',
      ],
    ],
  },
  'the inbox mark commits before its rows': {
    file: 'work/worker.ts',
    edits: [[BEGIN_APPLY, `await db.write('mark-first', (tx) => settleDeliveries(tx, settlements))\n${BEGIN_APPLY}`]],
  },
  'an older view overwrites a newer one': {
    file: 'apply/state.ts',
    edits: [["if (taken !== 'new') return taken", "if (taken === 'same') return taken"]],
  },
  'the end of a feed is stored as its cursor': {
    file: 'poll/claimed-read.ts',
    edits: [['if (page.nextCursor !== null && !keepsCursor) cursor = page.nextCursor', "if (!keepsCursor) cursor = page.nextCursor ?? ''"]],
  },
  'a cursor commits before its page': {
    file: 'poll/claimed-read.ts',
    edits: [
      [
        BEGIN_PAGE,
        `if (page.nextCursor !== null && cursor !== undefined) {
          const moved = cursor
          await o.db.write('cursor-first', (tx) => recordPage(tx, claim, { cursor: moved, leaseMs: READ_LEASE_MS }))
        }
        ${BEGIN_PAGE}`,
      ],
    ],
  },
  'the cursor of a destination commits before its rows': {
    file: 'push/queue/fan-out.ts',
    edits: [
      ['await queueRows(tx, rows, moves)', 'later = rows\n      await queueRows(tx, [], moves)'],
      [
        "return db.write('push-fan-out', step, { relaxedDurability: true })",
        "const more = await db.write('push-fan-out', step, { relaxedDurability: true })\n    await db.write('rows-later', (tx) => queueRows(tx, later, []))\n    return more",
      ],
      ['const step = async (tx: Tx)', 'let later: Awaited<ReturnType<typeof rowsFor>> = []\n    const step = async (tx: Tx)'],
    ],
  },
  'a stream continues after a push that failed': {
    file: 'push/send/row-sender.ts',
    edits: [["step = plan.stream\n      if (step.type !== 'go_on') break", 'step = plan.stream']],
  },
  'the rows of a stream are sent in any order': {
    file: 'store/outbox/rows.ts',
    edits: [["i.state = 'ready' order by i.outbox_id limit", "i.state = 'ready' order by i.message_id limit"]],
  },
  'an attempt is not marked before it is made': {
    file: 'store/outbox/work.ts',
    edits: [['if (claim.uncertain) await setUncertain(', 'if (claim.uncertain && lanes.length < 0) await setUncertain(']],
  },
  'an uncertain push is repeated without a look': {
    file: 'push/send/preparer.ts',
    edits: [['return !row.uncertain || row.progress !== null || this.#o.destination.idempotent', 'return true']],
  },
  'the change log skips a number': {
    file: 'store/changes/change-log.ts',
    edits: [
      [
        'const first = advanced.last_seq - changes.length + 1',
        'const first = advanced.last_seq - changes.length + (changes.length > 4 ? 2 : 1)',
      ],
    ],
  },
  'the change log loses what is behind the fifth change': {
    file: 'store/changes/change-log.ts',
    edits: [
      [
        'await tx.insertMany(\n    changesTable,\n    changes.map(',
        'await tx.insertMany(\n    changesTable,\n    changes.slice(0, 5).map(',
      ],
    ],
  },
  'a lane that left the view is not marked': {
    file: 'apply/lanes.ts',
    edits: [['session.lanes.put({ ...lane, gone_at: observation.readAt }, observation.cause)', 'void lane']],
  },
  'an event sets a lane that the rail has named': {
    file: 'apply/market-events.ts',
    edits: [['if (lane !== null && (isOfRail(lane) || isNewer(lane, row))) continue', 'if (lane !== null && isNewer(lane, row)) continue']],
  },
  'an older event sets a lane': {
    file: 'apply/market-events.ts',
    edits: [['if (lane !== null && (isOfRail(lane) || isNewer(lane, row))) continue', 'if (lane !== null && isOfRail(lane)) continue']],
  },
  'a lane that was not named yet requests no full re-read': {
    file: 'apply/lanes.ts',
    edits: [['if (before === null) session.requestFullRead(observation)', 'void before']],
  },
  'claims of a killed process are never released': {
    file: 'store/engine/leased.ts',
    edits: [
      [
        'lease_token = ${token}, ${this.#due} = ${dbTime(tx, leaseMs)} ${also(set)}`\n    return await',
        "lease_token = ${token}, ${this.#due} = '9999-01-01T00:00:00.000000Z' ${also(set)}`\n    return await",
      ],
    ],
  },
  'a push settles without its lease': {
    file: 'store/outbox/work.ts',
    edits: [['held.includes(stream)', 'held.length >= 0']],
  },
  'a read settles without its lease': {
    file: 'store/engine/leased.ts',
    edits: [['${this.#isAt(claim)} and lease_token = ${claim.leaseToken}`', '${this.#isAt(claim)}`']],
  },
} as const satisfies Plants<Plant>

/** Plants a fault before the product is loaded. @throws Error if its place is not in the source. */
export function plant(name: string): void {
  const known: Plants<Plant> = simulated
  const wanted = known[name]
  if (wanted === undefined) throw new Error(`no planted fault is named ${name}: ${Object.keys(known).join(' · ')}`)
  const url = new URL(`../../src/${wanted.file}`, import.meta.url)
  const source = planted(wanted, readFileSync(url, 'utf8'))
  registerHooks({
    load(which, context, next) {
      if (which !== url.href) return next(which, context)
      return { format: 'module-typescript', shortCircuit: true, source }
    },
  })
}
