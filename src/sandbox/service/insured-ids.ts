import { uuidOf } from '../world/ids.ts'
import type { Submission } from '../world/submission.ts'

/** @returns the id of the insured of a submission: the one that creation named, else that of its name in the brokerage. */
export function insuredIdOf({ account, facts, records }: Submission): string {
  return records.brief?.insuredId ?? insuredIdByName(account, facts.insured_name)
}

/**
 * @returns the id of an insured that a brokerage knows by name. The same name at another brokerage is another insured ("no cross-tenant
 *   access"). Those of the account `default` depend on the name alone, as state files and recorded stories have them.
 */
export function insuredIdByName(account: string, name: string): string {
  return uuidOf(account === 'default' ? `insured ${name}` : `insured ${account} ${name}`)
}
