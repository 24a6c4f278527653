import { z } from 'zod'
import type { AppetiteSearch, ProgramLine } from '../../client/schemas/appetite.ts'
import { canonicalLine, canonicalLines, type Program, programOf, programs, writesIn } from '../world/catalogue.ts'
import { categoryLabels } from '../world/names.ts'
import type { AccountRecords } from '../world/records.ts'
import { Refusal } from './refusal.ts'
import type { Unshown } from './unshown.ts'

/**
 * Counts an appetite question, which asks which markets take a risk. Both appetite operations share one daily limit. A
 * day is a UTC day of the service's clock.
 * @throws Refusal if the daily limit is reached.
 */
export function countQuestion({ appetite }: AccountRecords, unshown: Unshown, atMs: number): void {
  const day = new Date(atMs).toISOString().slice(0, 10)
  if (appetite.day !== day) Object.assign(appetite, { day, used: 0 })
  if (appetite.used >= unshown.number('appetite_daily_limit'))
    throw new Refusal('daily_limit', 'The daily limit of appetite questions is reached; ask again tomorrow')
  appetite.used++
}

export const appetiteQuery = z.object({ q: z.string(), state: z.string().optional(), lob: z.string().optional() })

function matching(query: string, state: string | undefined, lines: readonly string[]): Program[] {
  const open = programs.filter(
    (program) => writesIn(state?.toUpperCase() ?? '') && (lines.length === 0 || lines.some((line) => program.lines.includes(line))),
  )
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word.length > 2)
  const score = ({ market, lines: own }: Program) => {
    const text = `${market.name} ${market.program} ${own.map((line) => canonicalLines[line]).join(' ')}`.toLowerCase()
    return words.filter((word) => text.includes(word)).length
  }
  return open.toSorted((a, b) => score(b) - score(a))
}

function linesOf(program: Program) {
  return program.lines.map((slug) => ({ slug, label: canonicalLines[slug] ?? slug }))
}

/** @returns an "Appetite result" of the specification. */
export function appetiteResult({ q, state, lob }: z.output<typeof appetiteQuery>) {
  const line = lob === undefined ? undefined : (canonicalLine(lob) ?? lob)
  return {
    query: q,
    state: state ?? null,
    lob: lob ?? null,
    results: matching(q, state, line === undefined ? [] : [line]).map((program) => ({
      market_id: program.marketId,
      carrier_slug: program.market.slug,
      name: program.market.name,
      logo_url: null,
      lines: linesOf(program),
      matched_program_keys: [program.market.slug],
      matched_program_names: [program.market.program],
      turnaround: program.market.category === 'instant_quote' ? turnaroundOf(program) : null,
    })),
  }
}

function turnaroundOf({ market }: Program) {
  return {
    carrier: market.name,
    quotes_counted: 40,
    median_hours: 0.2,
    avg_hours: 0.5,
    typical_turnaround: 'Minutes',
    pct_within_1d: 98,
    pct_within_2d: 99,
    pct_within_3d: 100,
    pct_within_5d: 100,
    pct_within_7d: 100,
  }
}

/** @returns ranked markets with their matching programs and category. */
export function appetiteSearch({ query, state, lines }: AppetiteSearch) {
  const wanted = (lines ?? []).map((line) => canonicalLine(line) ?? line)
  return {
    query: query ?? '',
    state: state ?? null,
    lines: wanted,
    results: matching(query ?? '', state, wanted).map((program, index) => ({
      rank: index + 1,
      market_id: program.marketId,
      name: program.market.name,
      category: program.market.category,
      category_label: categoryLabels[program.market.category],
      programs: [{ program_id: program.programId, name: program.market.program, lines: linesOf(program) }],
    })),
  }
}

/**
 * Turns one line of a program on or off for a brokerage. A program is off if all of its lines are off.
 * @returns the new market-access table.
 * @throws Refusal if the program is unknown or doesn't list the line.
 */
export function setProgramLine({ linesOff }: AccountRecords, body: ProgramLine) {
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
