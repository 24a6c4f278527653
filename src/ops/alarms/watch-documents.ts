import { countTooLong } from '../../store/mirror/documents.ts'
import { storedBytes } from '../../store/reads/fetches.ts'
import { ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

/** All rows are looked at for the sum, so it may be this old. */
const COUNTED_MS = 300_000

/** The limits of documents. Reaching one stops nothing but documents. */
export function documentWatcher(): Watcher {
  let counted = { atMs: Number.NEGATIVE_INFINITY, bytes: 0 }
  return {
    names: ['documents_full', 'document_too_long'],
    async check({ q, config: { documents }, nowMs }) {
      if (documents.mode !== 'fetch') return []
      if (Math.abs(nowMs - counted.atMs) > COUNTED_MS) counted = { atMs: nowMs, bytes: await storedBytes(q) }
      const tooLong = await countTooLong(q)
      const { maxBytes, totalBytes } = documents
      const isFull = counted.bytes >= totalBytes
      return [
        ofInstallation(
          'documents_full',
          isFull ? 'on' : 'off',
          `documents take ${counted.bytes} bytes of ${totalBytes}, and no further one is fetched; raise DOCUMENTS_TOTAL_BYTES, or purge submissions`,
        ),
        ofInstallation(
          'document_too_long',
          tooLong > 0 ? 'on' : 'off',
          `documents longer than ${maxBytes} bytes are not fetched (${tooLong}); raise DOCUMENTS_MAX_BYTES, or take them from the service`,
        ),
      ]
    },
  }
}
