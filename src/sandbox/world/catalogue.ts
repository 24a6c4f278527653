import { uuidOf } from './ids.ts'
import { type Market, markets } from './names.ts'
import type { Submission } from './submission.ts'

/** A program of a market. */
export interface Program {
  readonly programId: string
  readonly marketId: string
  readonly market: Market
  /** Lines of business as canonical slugs. */
  readonly lines: readonly string[]
  /** Keys of questions that the broker must answer. */
  readonly asks: readonly string[]
  /** Keys of questions whose answer is assumed in favor of the insured. */
  readonly assumes: readonly string[]
  /** Labels of files that the broker must send. */
  readonly needs: readonly string[]
  /** Whether the carrier collects card payment in the portal. */
  readonly collectsCard?: boolean
}

/** Lines of business and their labels. No market takes `aviation`. */
export const canonicalLines: Readonly<Record<string, string>> = {
  general_liability: 'General liability',
  workers_compensation: 'Workers compensation',
  commercial_auto: 'Commercial auto',
  commercial_property: 'Commercial property',
  liquor_liability: 'Liquor liability',
  umbrella: 'Umbrella',
  inland_marine: 'Inland marine',
  professional_liability: 'Professional liability',
  cyber: 'Cyber',
  motor_truck_cargo: 'Motor truck cargo',
  aviation: 'Aviation',
}

const aliases: Readonly<Record<string, string>> = {
  gl: 'general_liability',
  wc: 'workers_compensation',
  workers_comp: 'workers_compensation',
  auto: 'commercial_auto',
  ca: 'commercial_auto',
  property: 'commercial_property',
  cp: 'commercial_property',
  liquor: 'liquor_liability',
  excess: 'umbrella',
  im: 'inland_marine',
  eo: 'professional_liability',
  pl: 'professional_liability',
  cargo: 'motor_truck_cargo',
}

/** @returns the slug of a line of business or of an alias; undefined if the text is neither. */
export function canonicalLine(text: string): string | undefined {
  const slug = text
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, '_')
  return Object.hasOwn(canonicalLines, slug) ? slug : Object.hasOwn(aliases, slug) ? aliases[slug] : undefined
}

const closedStates: readonly string[] = ['AK', 'HI']

type Terms = Pick<Program, 'lines' | 'asks' | 'assumes' | 'needs' | 'collectsCard'>

const marketable = Object.keys(canonicalLines).filter((line) => line !== 'aviation')
const lossRuns = ['Five years of currently valued loss runs']

const termsOf: Readonly<Record<string, Terms>> = {
  quickwell: { lines: marketable, asks: [], assumes: ['years_in_business', 'prior_losses', 'classification'], needs: [] },
  'beacon-direct': {
    lines: ['general_liability', 'workers_compensation', 'cyber', 'professional_liability'],
    asks: ['annual_revenue'],
    assumes: ['prior_losses', 'inspected'],
    needs: [],
  },
  corvid: {
    lines: ['commercial_property', 'commercial_auto', 'inland_marine'],
    asks: ['employees_full_time'],
    assumes: ['years_in_business', 'inspected'],
    needs: [],
    collectsCard: true,
  },
  stonegate: { lines: ['general_liability', 'workers_compensation', 'inland_marine'], asks: [], assumes: [], needs: [] },
  'prairie-national': {
    lines: ['commercial_property', 'umbrella', 'cyber', 'professional_liability'],
    asks: ['property_tiv_total'],
    assumes: [],
    needs: [],
  },
  harborline: {
    lines: ['commercial_auto', 'motor_truck_cargo', 'liquor_liability'],
    asks: ['auto_vehicle_count'],
    assumes: [],
    needs: [],
  },
  'alder-point': {
    lines: ['general_liability', 'professional_liability', 'liquor_liability', 'umbrella', 'cyber'],
    asks: [],
    assumes: [],
    needs: lossRuns,
  },
  kestrel: { lines: ['workers_compensation', 'commercial_auto', 'motor_truck_cargo'], asks: [], assumes: [], needs: lossRuns },
  northfork: { lines: ['commercial_property', 'inland_marine'], asks: [], assumes: [], needs: lossRuns },
}

/** All programs. Their ids are the same in every sandbox. */
export const programs: readonly Program[] = markets.map((market) => ({
  programId: uuidOf(`program ${market.slug}`),
  marketId: uuidOf(`market ${market.slug}`),
  market,
  ...(termsOf[market.slug] ?? { lines: [], asks: [], assumes: [], needs: [] }),
}))

export function programOf(programId: string): Program | undefined {
  return programs.find((program) => program.programId === programId)
}

/**
 * Whether markets accept risks in a state.
 * @param state two letters; empty if unknown, which counts as accepted.
 */
export function writesIn(state: string): boolean {
  return !closedStates.includes(state)
}

/**
 * @param linesOff disabled lines of business, by program id.
 * @returns the programs that accept the submission's state and at least one of its lines, each with the accepted lines.
 * If a partner chose programs, considers only the chosen programs.
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
