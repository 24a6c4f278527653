import type { ShowFix } from '../health/fix.ts'
import { callOf } from './calling.ts'
import type { AnyOperation } from './operation.ts'

/** Sections of `--help`. Each command is in one section. */
export type Group = 'Run' | 'Look' | 'Repair' | 'Move' | 'Develop'

/**
 * Operations with the same first word, such as `outbox.list` and `outbox.retry`.
 * A command imports only the code of its own subject.
 */
export interface Subject {
  readonly about: string
  readonly group: Group
  /** Example commands for `--help`. */
  readonly examples?: readonly string[]
  readonly load: () => Promise<readonly AnyOperation[]>
}

/** @returns the operations of several files as one list. */
async function together(...files: readonly Promise<{ readonly operations: readonly AnyOperation[] }>[]): Promise<readonly AnyOperation[]> {
  return (await Promise.all(files)).flatMap(({ operations }) => operations)
}

export const subjects = {
  account: {
    about: 'list accounts and resume a suspended one',
    group: 'Repair',
    examples: ['account list', 'account resume default'],
    load: async () => (await import('./account.ts')).operations,
  },
  action: {
    about: 'list operator actions',
    group: 'Look',
    examples: ['action list --since 24h', 'action list --json'],
    load: async () => (await import('./action.ts')).operations,
  },
  alarm: {
    about: 'list alarms and test notifications',
    group: 'Repair',
    examples: ['alarm list', 'alarm history --since 7d', 'alarm test'],
    load: async () => (await import('./alarm.ts')).operations,
  },
  backup: {
    about: 'back up the database',
    group: 'Move',
    examples: ['backup backups/mirror.db', 'backup backups/mirror.db --json'],
    load: async () => (await import('./backup.ts')).operations,
  },
  changes: {
    about: 'read the change log',
    group: 'Look',
    examples: ['changes list --limit 20', 'changes list --entity quotes --after 1200 --json'],
    load: async () => (await import('./changes.ts')).operations,
  },
  completeness: {
    about: 'how complete the mirror is',
    group: 'Look',
    load: async () => (await import('./completeness.ts')).operations,
  },
  destination: {
    about: 'list, pause, resume and check destinations, and map submissions to clients',
    group: 'Repair',
    examples: ['destination list', 'destination pause ams', 'destination resend ams --submission ID'],
    load: async () => (await import('./destination.ts')).operations,
  },
  doctor: {
    about: 'check the installation',
    group: 'Repair',
    examples: ['doctor', 'doctor --destination ams', 'doctor --conformance'],
    load: async () => (await import('./doctor.ts')).operations,
  },
  document: {
    about: 'list, download and check documents',
    group: 'Move',
    examples: ['document list --state failed', 'document get KEY --out policy.pdf', 'document check --repair'],
    load: async () => (await import('./document.ts')).operations,
  },
  history: {
    about: 'activity over time',
    group: 'Look',
    load: async () => (await import('./history.ts')).operations,
  },
  inbox: {
    about: 'list, replay and skip deliveries',
    group: 'Repair',
    examples: ['inbox list --state dead', 'inbox show 42', 'inbox replay --state dead --dry-run'],
    load: () =>
      together(import('./inbox.ts'), import('./found-without-webhook.ts'), import('./inbox-settling.ts'), import('./rejected.ts')),
  },
  item: {
    about: 'list items that the broker must supply',
    group: 'Look',
    examples: ['item list', 'item list --submission bakery'],
    load: async () => [(await import('./open-work.ts')).itemList],
  },
  outbox: {
    about: 'list, retry and skip pushes to destinations',
    group: 'Repair',
    examples: ['outbox list --state dead', 'outbox show 17', 'outbox retry --state dead --destination ams'],
    load: () => together(import('./outbox.ts'), import('./exchange.ts'), import('./outbox-settling.ts')),
  },
  purge: {
    about: 'delete submissions from the mirror',
    group: 'Move',
    examples: ['purge ID --dry-run', 'purge ID', 'purge --gone-before 2025-01-01 --dry-run'],
    load: async () => (await import('./purge.ts')).operations,
  },
  quote: {
    about: 'list quotes',
    group: 'Look',
    examples: ['quote list', 'quote list --submission bakery'],
    load: async () => [(await import('./open-work.ts')).quoteList],
  },
  reconcile: {
    about: 'compare the mirror with the service, and list runs',
    group: 'Repair',
    examples: ['reconcile --dry-run', 'reconcile --since 7d --report run.html', 'reconcile list'],
    load: async () => (await import('./reconcile.ts')).operations,
  },
  retention: {
    about: 'show what retention removes next, and confirm a waiting run',
    group: 'Move',
    examples: ['retention run', 'retention run --json'],
    load: async () => (await import('./retention.ts')).operations,
  },
  row: {
    about: 'show single rows of the mirror',
    group: 'Look',
    examples: ['row show default/ID --table submissions', 'row show 1200 --table changes --json'],
    load: () => together(import('./row.ts'), import('./row-load.ts')),
  },
  search: {
    about: 'find submissions, deliveries and pushes',
    group: 'Look',
    examples: ['search bakery', 'search 5f0c --json'],
    load: async () => (await import('./search.ts')).operations,
  },
  settings: {
    about: 'the active settings',
    group: 'Look',
    load: async () => (await import('./settings.ts')).operations,
  },
  status: {
    about: 'whether the mirror is complete and fresh',
    group: 'Look',
    examples: ['status', 'status --coverage', 'status --json'],
    load: async () => (await import('./status.ts')).operations,
  },
  submission: {
    about: 'list and show submissions',
    group: 'Look',
    examples: ['submission list --search bakery', 'submission show 5f0c', 'submission timeline "acme bakery" --kinds event,message'],
    load: () => together(import('./submission.ts'), import('./submission-show.ts'), import('./track.ts')),
  },
} as const satisfies Readonly<Record<string, Subject>>

export async function allOperations(): Promise<readonly AnyOperation[]> {
  return (await Promise.all(Object.values(subjects).map(({ load }) => load()))).flat()
}

/** @returns the fix. If the fix is an operation, adds the command, tool and request that call the operation. */
export const showFix: ShowFix = async (fix) => {
  if ('runbook' in fix) return fix
  const [subject = ''] = fix.operation.split('.')
  const found = (await subjects[subject as keyof typeof subjects].load()).find(({ name }) => name === fix.operation)
  if (found === undefined) throw new Error(`there is no operation ${fix.operation}`)
  return { ...fix, ...callOf(found, fix.input) }
}
