import { documents } from '../../../model/entities/documents.ts'
import { submissions } from '../../../model/entities/submissions.ts'
import { copied, type Relation } from './relation.ts'

export const documentIndex: Relation = {
  name: 'document_index',
  type: 'view',
  holds: 'Which documents there are of which submission, where the files lie, and why one is missing.',
  key: [],
  columns: {
    ...copied(documents, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(documents, 'document_key', 'document_id', 'origin', 'name', 'source_label', 'content_type', 'created_at'),
    state: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`stored`; `waiting` to be fetched; `failed`: `error` says why; `gone`: the service does not show it, and it was never stored',
    },
    ...copied(documents, 'stored_path', 'stored_bytes', 'sha256', 'stored_at', 'error', 'tried_at'),
    retry_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when its file is next fetched; null when it is not, or is being fetched now',
    },
    ...copied(documents, 'gone_at'),
  },
}
