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
  outbox: {
    about: 'look at what is pushed to destinations, and try it again or give it up',
    load: async () => (await import('./outbox.ts')).operations,
  },
} as const satisfies Readonly<Record<string, Subject>>

/** Every operation. */
export async function allOperations(): Promise<readonly AnyOperation[]> {
  return (await Promise.all(Object.values(subjects).map(({ load }) => load()))).flat()
}
