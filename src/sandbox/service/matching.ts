import { type Program, programOf, programs, writesIn } from '../world/catalogue.ts'
import type { Submission } from '../world/submission.ts'

/**
 * @param linesOff lines that the brokerage turned off, by program id.
 * @returns the programs that take lines of a submission in its state, of those that a partner chose or of all, each with these lines.
 */
export function matchingPrograms({ facts, records }: Submission, linesOff: Readonly<Record<string, readonly string[]>>) {
  const { brief } = records
  const chosen = brief?.raterPrograms ? brief.raterPrograms.flatMap((id) => programOf(id) ?? []) : programs
  return chosen.flatMap((program): { readonly program: Program; readonly lines: readonly string[] }[] => {
    const off = linesOff[program.programId] ?? []
    const lines = facts.lines.filter((line) => program.lines.includes(line) && !off.includes(line))
    return lines.length > 0 && writesIn(facts.state) ? [{ program, lines }] : []
  })
}
