import { z } from 'zod'
import type { Row } from '../model/entity.ts'
import { pluralize } from '../ops/output/text.ts'
import { changesAfter, type LoggedChange } from '../store/changes/reader.ts'
import type { Query } from '../store/engine/db.ts'
import type { Screen } from './screen.ts'

const PAGE = 500

const lostLine = z.object({ msg: z.literal('delivery lost'), submission: z.string(), type: z.string(), items: z.array(z.string()) })

/** Number of events and messages by how they arrived. */
export interface Tally {
  webhook: number
  poll: number
  /** Number found by polling after their webhook was lost. */
  found: number
  history: number
}

/** Follows the change log like any reader of the database, and shows how events and messages arrive. */
export class Arrivals {
  readonly tally: Tally = { webhook: 0, poll: 0, found: 0, history: 0 }
  /** Ids of records whose delivery the sandbox lost. */
  readonly #lost = new Set<string>()
  readonly #q: Query
  readonly #screen: Screen
  readonly #names = new Map<string, string>()
  #seq = 0

  constructor(q: Query, screen: Screen) {
    this.#q = q
    this.#screen = screen
  }

  /** Sets the name shown for a submission. */
  name(submissionId: string, insuredName: string): void {
    this.#names.set(submissionId, insuredName)
  }

  /**
   * Reads one line of the sandbox's log. If a delivery was lost, stores the ids of the delivery's records, and prints
   * the loss.
   */
  readSandboxLine(line: string): void {
    const lost = lostLine.safeParse(jsonIn(line)).data
    if (!lost) return
    for (const id of lost.items) this.#lost.add(id)
    const what = lost.type === 'submission.message' ? 'a message' : pluralize(lost.items.length, 'event')
    this.#screen.event('lost', this.#nameOf(lost.submission), `lost the delivery of ${what}`)
  }

  /** Reads the changes since the last call, and prints them. */
  async follow(): Promise<void> {
    const history = new Map<string, number>()
    for (let more = true; more; ) {
      const changes = await changesAfter(this.#q, this.#seq, PAGE)
      more = changes.length === PAGE
      for (const change of changes) {
        this.#seq = change.seq
        this.#show(change, history)
      }
    }
    for (const [submission, n] of history)
      this.#screen.event('history', this.#nameOf(submission), `${pluralize(n, 'record')} from before tracking began`)
  }

  #show({ entity, operation, cause, submission_id, entity_id, after }: LoggedChange, history: Map<string, number>): void {
    const submission = submission_id ?? ''
    if (operation !== 'insert' || after === null || (entity !== 'market_events' && entity !== 'thread_messages')) return
    if (cause === 'backfill') {
      this.tally.history += 1
      history.set(submission, (history.get(submission) ?? 0) + 1)
      return
    }
    const [, recordId = ''] = JSON.parse(entity_id) as string[]
    const wasLost = cause !== 'webhook' && this.#lost.has(recordId)
    const mark = cause === 'webhook' ? 'webhook' : wasLost ? 'found' : 'poll'
    this.tally[mark] += 1
    const name = this.#nameOf(submission)
    const what = entity === 'market_events' ? eventText(after) : messageText(after, name)
    this.#screen.event(mark, name, wasLost ? `${what} (its webhook was lost)` : what)
  }

  #nameOf(submission: string): string {
    return this.#names.get(submission) ?? `submission ${submission.slice(0, 8)}`
  }
}

function eventText(row: Row): string {
  return [row['type'], row['market_name'], row['status_label']].filter((part) => typeof part === 'string').join(' · ')
}

/** Removes the insured's name from the message's subject, because the printed line already begins with the name. */
function messageText(row: Row, insuredName: string): string {
  return `message · ${String(row['subject'] ?? row['kind']).replace(`${insuredName}: `, '')}`
}

function jsonIn(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
