import type { Account } from './accounts.ts'
import type { SandboxOptions } from './options.ts'

/** What a state file keeps of the accounts. An endpoint that the options name counts more than the one that was kept. */
export function accountsState(accounts: ReadonlyMap<string, Account>, options: SandboxOptions) {
  return {
    toState(): Account[] {
      return [...accounts.values()]
    },
    fromState(saved: readonly Account[]): void {
      for (const { name, credentials, readOnly, partner, users, target, eventTypes, ...rest } of saved) {
        const account = accounts.get(name)
        if (!account) throw new RangeError(`no account ${name}`)
        account.credentials.splice(0, Infinity, ...credentials)
        account.users.splice(0, Infinity, ...users)
        Object.assign(account.readOnly, readOnly)
        Object.assign(account.partner, partner)
        const given = options.accounts?.find((other) => other.name === name)
        Object.assign(account, rest, { target: given?.target ?? target, eventTypes: given?.eventTypes ?? eventTypes })
      }
    },
  }
}
