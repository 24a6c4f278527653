import { documents } from '../../model/entities/documents.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { copied, int, internal, orNull, relation, type TableOf, text, time } from './table.ts'

/** Documents, and what is due to be fetched of them. */

export const documentStates = ['stored', 'waiting', 'failed', 'gone'] as const
export type DocumentState = (typeof documentStates)[number]

export const documentIndex = relation({
  name: 'document_index',
  type: 'view',
  holds: 'Which documents there are of which submission, where the files lie, and why one is missing.',
  key: [],
  columns: {
    ...copied(documents, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(documents, 'document_key', 'document_id', 'origin', 'name', 'source_label', 'content_type', 'created_at'),
    state: text<DocumentState>(
      '`stored`; `waiting` to be fetched; `failed`: `error` says why; `gone`: the service does not show it, and it was never stored',
    ),
    ...copied(documents, 'document_url', 'stored_path', 'stored_bytes', 'sha256', 'stored_at', 'error', 'tried_at'),
    failing_since: orNull(time('since when every attempt to fetch it fails')),
    retry_at: orNull(time('when its file is next fetched; null when it is not, or is being fetched now')),
    ...copied(documents, 'gone_at'),
  },
})

export type DocumentIndexView = TableOf<typeof documentIndex>

export const syncDocuments = internal({
  name: 'sync_documents',
  holds: 'for each document when it is fetched next, lease, failures, since when it fails, and the limit that it was over',
  columns: {
    account: text(),
    document_key: text(),
    due_at: orNull(time('null: nothing is to be fetched. While it is claimed, the end of the lease')),
    lease_token: orNull(text()),
    failures: int('consecutive failures'),
    failing_since: orNull(time('since when every attempt fails')),
    refused_over_bytes: orNull(int('the limit of one file that it was longer than; null: it was not')),
  },
})

export const syncSharedDocuments = internal({
  name: 'sync_shared_documents',
  holds: 'other submissions that name a document, besides the one in `documents`; one of them gets it if that one no longer names it',
  columns: { account: text(), document_key: text(), submission_id: text() },
})
