import type { Account } from './accounts.ts'
import type { SandboxOptions } from './options.ts'

/** Older files have no event types. */
type Saved = Omit<Account, 'eventTypes'> & Partial<Pick<Account, 'eventTypes'>>

/** What a state file keeps of the accounts. The endpoint of the options counts more than the one that was kept. */
export function accountsState(accounts: ReadonlyMap<string, Account>, options: SandboxOptions) {
  return {
    toState(): Saved[] {
      return [...accounts.values()]
    },
    fromState(saved: readonly Saved[]): void {
      for (const { name, credentials, readOnly, partner, users, target, eventTypes, ...rest } of saved) {
        const account = accounts.get(name)
        if (!account) throw new RangeError(`no account ${name}`)
        account.credentials.splice(0, Infinity, ...credentials)
        account.users.splice(0, Infinity, ...users)
        Object.assign(account.readOnly, readOnly)
        Object.assign(account.partner, partner)
        const given = options.accounts?.find((other) => other.name === name)
        Object.assign(account, rest, { target: given?.target ?? target, eventTypes: given?.eventTypes ?? eventTypes ?? [] })
      }
    },
  }
}
