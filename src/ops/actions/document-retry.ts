import { type DocumentFilter, listDocuments } from '../../store/mirror/documents.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { retryFetches } from '../../store/reads/fetches.ts'
import type { DocumentIndexView } from '../../store/schema/documents.ts'
import { type ActionContext, idsForAudit } from './context.ts'

/** Documents in one transaction: few enough that a running `serve` does not wait. */
const PAGE = 200

/** Has failed documents fetched again now: those with these keys, or all. @returns how many. */
export async function retryDocuments(a: ActionContext, keys: readonly string[] | undefined, account: string | undefined): Promise<number> {
  const note = { who: a.who, action: 'document.retry', target: account ?? null, detail: keys === undefined ? {} : idsForAudit(keys) }
  const { changed } = await auditAction(a.db, note, async () => {
    let changed = 0
    for await (const page of failedPages(a, account)) {
      const chosen = page.filter(({ document_key }) => keys?.includes(document_key) ?? true)
      for (const [of, documents] of Map.groupBy(chosen, (document) => document.account))
        changed += await retryFetches(
          a.db,
          of,
          documents.map(({ document_key }) => document_key),
        )
    }
    return { changed, detail: { changed } }
  })
  return changed
}

async function* failedPages({ db, signal }: ActionContext, account: string | undefined): AsyncGenerator<DocumentIndexView[]> {
  let after: DocumentFilter['after']
  for (let more = true; more; ) {
    signal.throwIfAborted()
    const page = await listDocuments(db.read, { state: 'failed', account, after }, PAGE)
    yield page
    const last = page.at(-1)
    more = last !== undefined && page.length === PAGE
    after = last && { key: last.document_key, account: last.account }
  }
}
