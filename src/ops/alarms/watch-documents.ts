import type { Config } from '../../config/config.ts'
import { earlierTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { countTooLong } from '../../store/mirror/documents.ts'
import { storedBytes, unfetchedBy } from '../../store/reads/fetches.ts'
import { HOST_NOT_LISTED, unlistedHostIn } from '../../upstream/http/elsewhere.ts'
import { type Problem, problem } from '../health/problem.ts'
import { pluralize } from '../output/text.ts'
import type { Watcher } from './watcher.ts'

/** The setting that says whether documents are fetched. */
export interface FetchMode {
  readonly documents: Pick<Config['documents'], 'mode'>
}

/** A total size below the limit is cached for this many ms, because computing the total reads all documents' rows. */
const COUNTED_MS = 300_000
/** Maximum number of hosts that a problem text names. */
const NAMED = 3

/**
 * Watches the size limits of documents, and hosts that `DOCUMENT_HOSTS` doesn't list.
 * At a limit, only the fetching of documents stops.
 */
export function documentWatcher(): Watcher {
  let counted = { atMs: Number.NEGATIVE_INFINITY, bytes: 0 }
  return {
    names: ['documents_full', 'document_too_long', 'document_host_unlisted'],
    async check({ q, config, nowMs }) {
      const { documents } = config
      if (documents.mode !== 'fetch') return []
      if (Math.abs(nowMs - counted.atMs) > COUNTED_MS || counted.bytes >= documents.totalBytes)
        counted = { atMs: nowMs, bytes: await storedBytes(q) }
      const tooLong = await countTooLong(q)
      const { maxBytes, totalBytes } = documents
      const isFull = counted.bytes >= totalBytes
      return [
        problem('documents_full', {}, isFull, `documents use ${counted.bytes} of ${totalBytes} bytes, so fetching stopped`),
        problem(
          'document_too_long',
          {},
          tooLong > 0,
          `${pluralize(tooLong, 'document')} longer than ${maxBytes} bytes ${tooLong === 1 ? 'is' : 'are'} not fetched`,
        ),
        ...(await unlistedHosts(q, config)),
      ]
    },
  }
}

/** @returns one problem per account with unlisted hosts. The text names the hosts and counts their documents. */
export async function unlistedHosts(q: Query, { documents }: FetchMode): Promise<Problem[]> {
  if (documents.mode !== 'fetch') return []
  const rows = await unfetchedBy(q, HOST_NOT_LISTED)
  return [...Map.groupBy(rows, ({ account }) => account)].map(([account, errors]) => {
    const count = errors.reduce((sum, each) => sum + each.count, 0)
    const hosts = errors.map((each) => unlistedHostIn(each.error))
    const more = hosts.length > NAMED ? ` and ${hosts.length - NAMED} more` : ''
    const which = `${pluralize(count, 'document')} of account ${account} cannot be fetched`
    const text = `${which}, because DOCUMENT_HOSTS does not list ${hosts.slice(0, NAMED).join(', ')}${more}`
    const since = errors.reduce<TimeText | null>((oldest, each) => earlierTime(oldest, each.since), null)
    return problem('document_host_unlisted', { account, since, count }, 'on', text)
  })
}
