import type { Config } from '../../config/config.ts'
import { msFromTime } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { countTooLong } from '../../store/mirror/documents.ts'
import { storedBytes, unfetchedBy } from '../../store/reads/fetches.ts'
import { HOST_NOT_NAMED, hostNotNamedIn } from '../../upstream/http/elsewhere.ts'
import { pluralize } from '../output/text.ts'
import { type Condition, ofAccount, ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

/** Whether files of documents are fetched at all. */
export interface FetchMode {
  readonly documents: Pick<Config['documents'], 'mode'>
}

/** All rows are read for the sum, so it may be this old, unless there is no room. */
const COUNTED_MS = 300_000
/** Hosts that a text names; the others are counted. */
const NAMED = 3

/** The limits of documents, and hosts that they lie on. Reaching one stops nothing but documents. */
export function documentWatcher(): Watcher {
  let counted = { atMs: Number.NEGATIVE_INFINITY, bytes: 0 }
  return {
    names: ['documents_full', 'document_too_long', 'document_host_unnamed'],
    async check({ q, config, nowMs }) {
      const { documents } = config
      if (documents.mode !== 'fetch') return []
      if (Math.abs(nowMs - counted.atMs) > COUNTED_MS || counted.bytes >= documents.totalBytes)
        counted = { atMs: nowMs, bytes: await storedBytes(q) }
      const tooLong = await countTooLong(q)
      const { maxBytes, totalBytes } = documents
      const isFull = counted.bytes >= totalBytes
      return [
        ofInstallation('documents_full', isFull, `documents take ${counted.bytes} bytes of ${totalBytes}, and no further one is fetched`),
        ofInstallation('document_too_long', tooLong > 0, `documents longer than ${maxBytes} bytes are not fetched (${tooLong})`),
        ...(await unnamedHosts(q, config)),
      ]
    },
  }
}

/** Of each account with documents that are not fetched because the settings do not name their host: how many, and which hosts. */
export async function unnamedHosts(q: Query, { documents }: FetchMode): Promise<Condition[]> {
  if (documents.mode !== 'fetch') return []
  const rows = await unfetchedBy(q, HOST_NOT_NAMED)
  return [...Map.groupBy(rows, ({ account }) => account)].map(([account, errors]) => {
    const count = errors.reduce((sum, each) => sum + each.count, 0)
    const hosts = errors.map((each) => hostNotNamedIn(each.error))
    const more = hosts.length > NAMED ? ` and ${hosts.length - NAMED} more` : ''
    const lie = count === 1 ? 'lies' : 'lie'
    const text =
      `${pluralize(count, 'document')} of account ${account} ${lie} on ${hosts.slice(0, NAMED).join(', ')}${more}, which DOCUMENT_HOSTS does not name, ` +
      'and cannot be fetched'
    const since = errors.reduce(
      (oldest, { since: at }) => Math.min(oldest, at === null ? oldest : msFromTime(at)),
      Number.POSITIVE_INFINITY,
    )
    return { ...ofAccount(account, 'document_host_unnamed', 'on', text, Number.isFinite(since) ? since : undefined), count }
  })
}
