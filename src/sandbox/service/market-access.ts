import { z } from 'zod'
import { programOf, programs } from '../world/catalogue.ts'
import type { AccountRecords } from '../world/records.ts'
import { Refusal } from './refusal.ts'

export const programLineBody = z.object({ program_id: z.uuid(), lob_slug: z.string(), enabled: z.boolean() })

/**
 * Turns one line of a program on or off for a brokerage. "Turning off every listed line equals turning the program off."
 * @returns the refreshed market-access table.
 * @throws Refusal for an unknown program; for a line that the program does not list.
 */
export function setProgramLine({ linesOff }: AccountRecords, body: z.output<typeof programLineBody>) {
  const program = programOf(body.program_id)
  if (!program) throw new Refusal('not_found', 'Program not found')
  const line = body.lob_slug
  if (!program.lines.includes(line)) throw new Refusal('line_not_listed', `${program.market.program} does not list the line ${line}`)
  const others = (linesOff[program.programId] ?? []).filter((other) => other !== line)
  linesOff[program.programId] = body.enabled ? others : [...others, line]
  return marketAccess({ linesOff })
}

function marketAccess({ linesOff }: Pick<AccountRecords, 'linesOff'>) {
  return {
    programs: programs.map(({ programId, marketId, market, lines }) => {
      const off = linesOff[programId] ?? []
      return {
        program_id: programId,
        market_id: marketId,
        market_name: market.name,
        program: market.program,
        program_category: market.category,
        enabled: lines.some((line) => !off.includes(line)),
        lines: lines.map((line) => ({ lob_slug: line, enabled: !off.includes(line) })),
      }
    }),
  }
}
