import { msFromTime } from '../../model/time.ts'
import { inboxGauges } from '../../store/upkeep/gauges.ts'
import { pile } from '../health/matters.ts'
import { ago, pluralize } from '../output/text.ts'
import { levelOf, ofInstallation, ofMatter } from './condition.ts'
import type { Watcher } from './watcher.ts'

const BACKLOG_MS = 60_000
const SMALL_BACKLOG_MS = 30_000

/** Whether deliveries are worked. Reads the inbox alone: whatever blocks the work may block reads of the mirror too. */
export const inboxWatcher: Watcher = {
  names: ['inbox_backlog', 'inbox_dead'],
  async check({ q, config, nowMs }) {
    const accounts = config.accounts.map(({ name }) => name)
    const gauges = await inboxGauges(q, accounts)
    const ready = gauges.find(({ state }) => state === 'ready')
    const waitMs = ready?.oldestAt ? nowMs - msFromTime(ready.oldestAt) : 0
    const backlog = ofInstallation(
      'inbox_backlog',
      levelOf(waitMs, SMALL_BACKLOG_MS, BACKLOG_MS),
      `${pluralize(ready?.count ?? 0, 'delivery', 'deliveries')} ${ready?.count === 1 ? 'waits' : 'wait'} to be worked, the oldest for ${ago(ready?.oldestAt ?? null, nowMs)}; see in the ` +
        'log whether one fails again and again; if not, see whether machine and database are fast enough',
    )
    const dead = gauges.flatMap(({ state, account, count }) =>
      state === 'dead' && account !== null
        ? [ofMatter('inbox_dead', { account }, pile('dead_deliveries', { count, oldestAt: null }, { account }))]
        : [],
    )
    return [backlog, ...dead]
  },
}
