import { documents } from '../../model/entities/documents.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { copied, each, int, internal, orNull, relation, type TableOf, text, time } from './table.ts'

export const documentStates = ['stored', 'waiting', 'failed', 'gone'] as const
export type DocumentState = (typeof documentStates)[number]

export const documentIndex = relation({
  name: 'document_index',
  type: 'view',
  holds: 'The documents of each submission, where their files are stored, and why one is missing.',
  key: [],
  columns: {
    ...copied(documents, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(documents, 'document_key', 'document_id', 'origin', 'name', 'source_label', 'content_type', 'created_at'),
    state: text<DocumentState>(
      '`stored`; `waiting` to be fetched; `failed`: see `error`; `gone`: the service does not show it, and it was never stored',
    ),
    ...copied(documents, 'document_url', 'stored_path', 'stored_bytes', 'sha256', 'stored_at', 'error', 'tried_at'),
    failing_since: orNull(time('since when every attempt to fetch it fails')),
    retry_at: orNull(time('when its file is fetched next; null if it is not, or is being fetched now')),
    ...copied(documents, 'gone_at'),
  },
})

export type DocumentIndexView = TableOf<typeof documentIndex>

export const syncDocuments = internal({
  name: 'sync_documents',
  holds: 'for each document: next fetch, lease, failures, since when it fails, and the size limit it exceeded',
  columns: {
    ...each(text(), 'account', 'document_key'),
    due_at: orNull(time('null: nothing to fetch; while claimed, the end of the lease')),
    lease_token: orNull(text()),
    failures: int('consecutive failures'),
    failing_since: orNull(time('since when every attempt fails')),
    refused_over_bytes: orNull(int('the size limit of one file that it exceeded; null: none')),
  },
})

export const syncSharedDocuments = internal({
  name: 'sync_shared_documents',
  holds: 'further submissions that name a document; one of them gets it if the submission in `documents` no longer names it',
  columns: each(text(), 'account', 'document_key', 'submission_id'),
})
