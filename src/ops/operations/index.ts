import type { ShowMend } from '../health/mend.ts'
import { callOf } from './calling.ts'
import type { AnyOperation } from './operation.ts'

/** What people want of a command when they look for it: `--help` lists the commands of each together. */
export type Group = 'Run' | 'Look' | 'Repair' | 'Move' | 'Develop'

/** Operations of one subject: what the group of its commands is for, and what loads them. A command loads only its own. */
export interface Subject {
  readonly about: string
  readonly group: Group
  /** Of its commands, for `--help`. */
  readonly examples?: readonly string[]
  readonly load: () => Promise<readonly AnyOperation[]>
}

/** The operations of a subject that several files declare. */
async function together(...files: readonly Promise<{ readonly operations: readonly AnyOperation[] }>[]): Promise<readonly AnyOperation[]> {
  return (await Promise.all(files)).flatMap(({ operations }) => operations)
}

/** Every subject, by the name of its commands. */
export const subjects = {
  account: {
    about: 'look at accounts, and let a stopped one try again',
    group: 'Repair',
    examples: ['account list', 'account resume default'],
    load: async () => (await import('./account.ts')).operations,
  },
  action: {
    about: 'look at what operators did',
    group: 'Look',
    examples: ['action list --since 24h', 'action list --json'],
    load: async () => (await import('./action.ts')).operations,
  },
  alarm: {
    about: 'look at alarms, and try whether operators can be told',
    group: 'Repair',
    examples: ['alarm list', 'alarm history --since 7d', 'alarm test'],
    load: async () => (await import('./alarm.ts')).operations,
  },
  backup: {
    about: 'copy the database',
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
    about: 'look at destinations, stop them, let them go on, map submissions to them',
    group: 'Repair',
    examples: ['destination list', 'destination pause ams', 'destination resend ams --submission ID'],
    load: async () => (await import('./destination.ts')).operations,
  },
  doctor: {
    about: 'look whether everything works',
    group: 'Repair',
    examples: ['doctor', 'doctor --destination ams', 'doctor --conformance'],
    load: async () => (await import('./doctor.ts')).operations,
  },
  document: {
    about: 'look at documents of the service, and take their files',
    group: 'Move',
    examples: ['document list --state failed', 'document get KEY --out policy.pdf', 'document check --repair'],
    load: async () => (await import('./document.ts')).operations,
  },
  history: {
    about: 'what happened, in steps',
    group: 'Look',
    load: async () => (await import('./history.ts')).operations,
  },
  inbox: {
    about: 'look at stored and refused deliveries, work them again, or give them up',
    group: 'Repair',
    examples: ['inbox list --state dead', 'inbox show 42', 'inbox replay --state dead --dry-run'],
    load: () =>
      together(import('./inbox.ts'), import('./found-without-webhook.ts'), import('./inbox-settling.ts'), import('./rejected.ts')),
  },
  item: {
    about: 'look at what is still missing',
    group: 'Look',
    examples: ['item list', 'item list --submission bakery'],
    load: async () => [(await import('./open-work.ts')).itemList],
  },
  outbox: {
    about: 'look at what is pushed to destinations, and try it again or give it up',
    group: 'Repair',
    examples: ['outbox list --state dead', 'outbox show 17', 'outbox retry --state dead --destination ams'],
    load: () => together(import('./outbox.ts'), import('./exchange.ts'), import('./outbox-settling.ts')),
  },
  purge: {
    about: 'remove submissions',
    group: 'Move',
    examples: ['purge ID --dry-run', 'purge ID', 'purge --gone-before 2025-01-01 --dry-run'],
    load: async () => (await import('./purge.ts')).operations,
  },
  quote: {
    about: 'look at quotes',
    group: 'Look',
    examples: ['quote list', 'quote list --submission bakery'],
    load: async () => [(await import('./open-work.ts')).quoteList],
  },
  reconcile: {
    about: 'look at runs that compare the mirror with the service',
    group: 'Repair',
    examples: ['reconcile --dry-run', 'reconcile --since 7d --report run.html', 'reconcile list'],
    load: async () => (await import('./reconcile.ts')).operations,
  },
  retention: {
    about: 'look at what is removed for its age, and let a turn that waits take place',
    group: 'Move',
    examples: ['retention run', 'retention run --json'],
    load: async () => (await import('./retention.ts')).operations,
  },
  row: {
    about: 'look at single rows of the mirror',
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
    about: 'the settings in force',
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
    about: 'look at submissions as they are mirrored',
    group: 'Look',
    examples: ['submission list --search bakery', 'submission show 5f0c', 'submission timeline "acme bakery" --kinds event,message'],
    load: () => together(import('./submission.ts'), import('./submission-show.ts'), import('./track.ts')),
  },
} as const satisfies Readonly<Record<string, Subject>>

/** Every operation. */
export async function allOperations(): Promise<readonly AnyOperation[]> {
  return (await Promise.all(Object.values(subjects).map(({ load }) => load()))).flat()
}

/** @returns a mend with how its operation is called. */
export const showMend: ShowMend = async (mend) => {
  if ('runbook' in mend) return mend
  const [subject = ''] = mend.operation.split('.')
  const found = (await subjects[subject as keyof typeof subjects].load()).find(({ name }) => name === mend.operation)
  if (found === undefined) throw new Error(`there is no operation ${mend.operation}`)
  return { ...mend, ...callOf(found, mend.input) }
}
