import { simulated } from '../simulation/plants.ts'
import type { Plants } from './plant.ts'

/** What is asked of the service: poll, read, upstream, the typed client, documents. */
export const reading: Plants = {
  'a page without items counts as the end of its feed': {
    file: 'read/feed-pages.ts',
    edits: [
      [
        'const last = page.nextCursor === null || stall !== null',
        'const last = page.nextCursor === null || stall !== null || emptyPages > 0',
      ],
    ],
    foundBy: ['read/feed-pages.test.ts'],
  },
  'a submission counts as gone after its first 404': {
    file: 'model/reads.ts',
    edits: [['const NOT_FOUND_TO_CONFIRM = 3', 'const NOT_FOUND_TO_CONFIRM = 1']],
    foundBy: ['poll/sync.test.ts'],
  },
  'a read that fails is read again at once': {
    file: 'poll/claimed-read.ts',
    edits: [['Math.max(retryAfterOf(error), backoffMs(o.clock, failures, FAILURE_BASE_MS, FAILURE_CAP_MS))', 'retryAfterOf(error)']],
    foundBy: ['poll/claimed-read.test.ts'],
  },
  'a submission that was active is polled as one that was quiet': {
    file: 'poll/intervals.ts',
    edits: [['quietForMs <= HOUR_MS ? clamp(grown, activeMs, quietMs)', 'quietForMs <= 0 ? clamp(grown, activeMs, quietMs)']],
    foundBy: ['poll/intervals.test.ts'],
  },
  'a read settles without its lease': { ...simulated['a read settles without its lease'], foundBy: ['store/reads/reads.test.ts'] },
  'reads of every account are claimed': {
    file: 'store/reads/claims.ts',
    edits: [['sql`account = ${query.account} and ${ofSubmissions', 'sql`1 = 1 and ${ofSubmissions']],
    foundBy: ['store/reads/reads.test.ts'],
  },
  'a read is claimed before it is due': {
    file: 'store/engine/leased.ts',
    edits: [['const isDue = sql`${this.#due} <= ${dbTime(tx)}`', 'const isDue = sql`1 = 1`']],
    foundBy: ['store/reads/reads.test.ts'],
  },
  'a wake shortens the wait of a read that fails': {
    file: 'store/reads/reads.ts',
    edits: [
      [
        'due_at = case when lease_token is null and failures + not_found + stalled_feed_reads = 0 and due_at > ${soon}',
        'due_at = case when lease_token is null and due_at > ${soon}',
      ],
    ],
    foundBy: ['store/reads/reads.test.ts'],
  },
  'full re-reads of new lanes do not wait for each other, on Postgres': {
    file: 'store/reads/reads.ts',
    edits: [['timePlus(tx, sql`last_full_read_at`, FULL_READ_COALESCE_MS)', 'timePlus(tx, sql`last_full_read_at`, 0)']],
    foundBy: ['store/reads/reads.test.ts', 'poll/full-re-read.test.ts'],
  },
  'a token is used beyond its time': {
    file: 'base/token-holder.ts',
    edits: [['return this.#renew === null || this.#renew.leftMs() > 0 ? this.#held : null', 'return this.#held']],
    foundBy: ['base/token-holder.test.ts', 'upstream/token.test.ts', 'push/http/token-keeper.test.ts'],
  },
  'a token that the service refused is not renewed': {
    file: 'upstream/client.ts',
    edits: [["this.#tokens.invalidate(token, call.operation === 'me')\n", '']],
    foundBy: ['upstream/client.test.ts'],
  },
  'a cursor goes into the URL as it is': {
    file: 'base/service-http.ts',
    edits: [['${encodeURIComponent(key)}=${encodeURIComponent(value)}', '${encodeURIComponent(key)}=${value}']],
    foundBy: ['base/service-http.test.ts'],
  },
  'the pause that the service asks for is not made': {
    file: 'upstream/http/channel.ts',
    edits: [['this.limiter.throttled(pauseMs, sentAt)', 'this.limiter.throttled(0, sentAt)']],
    foundBy: ['upstream/client.test.ts'],
  },
  'a service that is down is asked once more than it should be': {
    file: 'base/circuit.ts',
    edits: [['this.#failures >= this.#limits.failuresToOpen', 'this.#failures > this.#limits.failuresToOpen']],
    foundBy: ['base/circuit.test.ts'],
  },
  'work in the background waits for ever': {
    file: 'base/limiter.ts',
    edits: [['(live.length === 0 || this.#turn % BACKGROUND_TURN === BACKGROUND_TURN - 1)', 'live.length === 0']],
    foundBy: ['base/limiter.test.ts'],
  },
  'a request may go to a private address': {
    file: 'upstream/network/address-guard.ts',
    edits: [["return found === 'public' || (found === 'private' && allowPrivate)", "return found === 'public' || found === 'private'"]],
    foundBy: ['upstream/network/address-guard.test.ts'],
  },
  'a document is fetched from a host that the settings do not name': {
    file: 'upstream/http/elsewhere.ts',
    edits: [['if (!this.#hosts.has(url.host)) throw new UnlistedHostError(unlistedHostText(url.host))\n', '']],
    foundBy: ['upstream/http/elsewhere.test.ts'],
  },
  'a redirect of a document is followed wherever it leads': {
    file: 'upstream/http/elsewhere.ts',
    edits: [['url = this.#judge(end.location, url)', 'url = new URL(end.location, url)']],
    foundBy: ['upstream/http/elsewhere.test.ts'],
  },
  'a document that ended too early is kept': {
    file: 'documents/storage/spool.ts',
    edits: [['if (bytes !== null && this.#bytes !== bytes) {', 'if (bytes !== null && this.#bytes > bytes) {']],
    foundBy: ['documents/storage/folder.test.ts'],
  },
  'a document is fetched by two processes': {
    file: 'store/reads/fetches.ts',
    edits: [['leaseMs: FETCH_LEASE_MS', 'leaseMs: 0']],
    foundBy: ['store/reads/fetches.test.ts'],
  },
  'the typed client leaves out how many items a page may have': {
    file: 'client/calls/submissions.ts',
    edits: [['/events`, { since, limit }), eventsPageSchema)', '/events`, { since }), eventsPageSchema)']],
    foundBy: ['client/client.test.ts'],
  },
  'the typed client repeats a write that may have been done': {
    file: 'client/calls/submissions.ts',
    edits: [
      [
        "channel.ask({ method: 'POST', path, ...sent, retry: 'at-most-once' }",
        "channel.ask({ method: 'POST', path, ...sent, retry: 'idempotent' }",
      ],
    ],
    foundBy: ['client/client.test.ts'],
  },
}
