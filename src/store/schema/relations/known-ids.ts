import type { Relation } from './relation.ts'

export const knownIds: Relation = {
  name: 'known_ids',
  type: 'view',
  holds:
    'What the service lists nowhere and answers by its id alone: bind requests, policies, insureds, documents. One row for each id that an ' +
    'answer or an operator (`track --policy` …) named.',
  key: [],
  columns: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    kind: { kind: 'text', class: 'none', source: 'program', meaning: '`bind_request`, `policy`, `insured`, `document`' },
    id: { kind: 'text', class: 'none', source: '`bind_request_id`, `policy_id`, `insured_id`, `document_id`', meaning: 'the id' },
    submission_id: {
      kind: 'text',
      class: 'none',
      source: 'the answer',
      meaning: 'the submission that it was named for; null when none is known',
    },
    via: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        'what named it first: `webhook`, a read such as `thread` or `requirements`, `discovery:` and the path, `command`, `reconcile`',
    },
    first_seen_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was first named' },
    last_read_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was last read; null: never yet, and for a document' },
    error: { kind: 'text', class: 'none', source: 'program', meaning: 'why the last read failed; null when it did not' },
  },
}
