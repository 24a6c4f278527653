import type { AnyOperation } from './operation.ts'

/** Operations of one subject: what the group of its commands is for, and what loads them. A command loads only its own. */
export interface Subject {
  readonly about: string
  readonly load: () => Promise<readonly AnyOperation[]>
}

/** Every subject, by the name of its commands. */
export const subjects = {
  account: {
    about: 'look at accounts, and let a stopped one try again',
    load: async () => (await import('./account.ts')).operations,
  },
  action: {
    about: 'look at what operators did',
    load: async () => (await import('./action.ts')).operations,
  },
  alarm: {
    about: 'look at alarms, and try whether operators can be told',
    load: async () => (await import('./alarm.ts')).operations,
  },
  backup: {
    about: 'copy the database',
    load: async () => (await import('./backup.ts')).operations,
  },
  changes: {
    about: 'read the change log',
    load: async () => (await import('./changes.ts')).operations,
  },
  completeness: {
    about: 'how complete the mirror is',
    load: async () => (await import('./completeness.ts')).operations,
  },
  destination: {
    about: 'look at destinations, stop them, let them go on, map submissions to them',
    load: async () => (await import('./destination.ts')).operations,
  },
  doctor: {
    about: 'look whether everything works',
    load: async () => (await import('./doctor.ts')).operations,
  },
  document: {
    about: 'look at documents of the service, and take their files',
    load: async () => (await import('./document.ts')).operations,
  },
  history: {
    about: 'what happened, in steps',
    load: async () => (await import('./history.ts')).operations,
  },
  inbox: {
    about: 'look at stored and refused deliveries, work them again, or give them up',
    load: async () => [...(await import('./inbox.ts')).operations, ...(await import('./rejected.ts')).operations],
  },
  item: {
    about: 'look at what is still missing',
    load: async () => [(await import('./open-work.ts')).itemList],
  },
  outbox: {
    about: 'look at what is pushed to destinations, and try it again or give it up',
    load: async () => (await import('./outbox.ts')).operations,
  },
  purge: {
    about: 'remove submissions',
    load: async () => (await import('./purge.ts')).operations,
  },
  quote: {
    about: 'look at quotes',
    load: async () => [(await import('./open-work.ts')).quoteList],
  },
  reconcile: {
    about: 'look at runs that compare the mirror with the service',
    load: async () => (await import('./reconcile.ts')).operations,
  },
  retention: {
    about: 'look at what is removed for its age, and let a turn that waits take place',
    load: async () => (await import('./retention.ts')).operations,
  },
  row: {
    about: 'look at single rows of the mirror',
    load: async () => (await import('./row.ts')).operations,
  },
  search: {
    about: 'find submissions, deliveries and pushes',
    load: async () => (await import('./search.ts')).operations,
  },
  settings: {
    about: 'the settings in force',
    load: async () => (await import('./settings.ts')).operations,
  },
  status: {
    about: 'whether the mirror is complete and fresh',
    load: async () => (await import('./status.ts')).operations,
  },
  submission: {
    about: 'look at submissions as they are mirrored',
    load: async () => (await import('./submission.ts')).operations,
  },
} as const satisfies Readonly<Record<string, Subject>>

/** Every operation. */
export async function allOperations(): Promise<readonly AnyOperation[]> {
  return (await Promise.all(Object.values(subjects).map(({ load }) => load()))).flat()
}
