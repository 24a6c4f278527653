import type { Relation } from './relation.ts'

export const extraReads: Relation = {
  name: 'extra_reads',
  type: 'table',
  holds:
    'The last answer of each path that `accounts[].extra_reads` names, for what the service has without showing its fields. It is in no change ' +
    'log, goes to no destination, and is compared by no reconcile run.',
  key: ['account', 'submission_id', 'name'],
  columns: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    submission_id: {
      kind: 'text',
      class: 'none',
      source: 'path',
      meaning: 'the submission that was asked for; empty when the path has none',
    },
    name: { kind: 'text', class: 'none', source: 'settings', meaning: 'its name in the settings' },
    read_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was read' },
    raw: { kind: 'raw', class: 'free', source: 'the whole answer', meaning: 'the answer as it came, tax ids aside' },
  },
}
