import type { UnshownInput } from '../../src/sandbox/service/unshown.ts'
import { applicationCases } from './cases/applications.ts'
import { authenticationCases } from './cases/authentication.ts'
import { bindingCases } from './cases/binding.ts'
import { conversingCases } from './cases/conversing.ts'
import { creatingCases } from './cases/creating.ts'
import { deliveryCases } from './cases/deliveries.ts'
import { marketCases } from './cases/markets.ts'
import { type Case, Desk } from './desk.ts'

export const cases: readonly Case[] = [
  ...authenticationCases,
  ...creatingCases,
  ...conversingCases,
  ...applicationCases,
  ...marketCases,
  ...bindingCases,
  ...deliveryCases,
]

/**
 * Runs a case on a new sandbox and checks answers against the OpenAPI document. @param variants of the service. @returns why it failed;
 * null if it passed.
 */
export async function failureOf({ run }: Case, variants: UnshownInput = {}): Promise<string | null> {
  const desk = await Desk.open(variants)
  try {
    await run(desk)
    // The document describes the default forms.
    const problems = Object.keys(variants).length === 0 ? desk.contract.problems : []
    return problems.length === 0 ? null : problems.join('\n')
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await desk.sandbox.close()
  }
}
