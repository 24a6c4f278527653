import type { Account } from './accounts.ts'
import type { SandboxOptions } from './options.ts'

type Saved = Omit<Account, 'eventTypes'>

/** What a state file keeps of the accounts. The endpoint of the options counts more than the one that was kept. */
export function accountsState(accounts: ReadonlyMap<string, Account>, options: SandboxOptions) {
  return {
    toState(): Saved[] {
      return [...accounts.values()].map(({ eventTypes, ...saved }) => saved)
    },
    fromState(saved: readonly Saved[]): void {
      for (const { name, credentials, readOnly, partner, users, target, ...rest } of saved) {
        const account = accounts.get(name)
        if (!account) throw new RangeError(`no account ${name}`)
        account.credentials.splice(0, Infinity, ...credentials)
        account.users.splice(0, Infinity, ...users)
        Object.assign(account.readOnly, readOnly)
        Object.assign(account.partner, partner)
        const given = options.accounts?.find((other) => other.name === name)?.target
        Object.assign(account, rest, { target: given ?? target })
      }
    },
  }
}
