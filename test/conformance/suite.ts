import { accessCases } from './cases/access.ts'
import { bindingCases } from './cases/binding.ts'
import { submissionCases } from './cases/submissions.ts'
import { type Case, Desk } from './desk.ts'

export const cases: readonly Case[] = [...accessCases, ...submissionCases, ...bindingCases]

/** Runs a case on a sandbox of its own, whose answers are held to the OpenAPI document. @returns why it failed; null when it passed. */
export async function failureOf({ run }: Case): Promise<string | null> {
  const desk = await Desk.open()
  try {
    await run(desk)
    return desk.contract.problems.length === 0 ? null : desk.contract.problems.join('\n')
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await desk.sandbox.close()
  }
}
