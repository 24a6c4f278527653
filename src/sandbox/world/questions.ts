import type { Plain } from './plain.ts'

/** A question that programs ask about a risk. */
export interface Question {
  readonly key: string
  readonly label: string
  /** Type of the answer; the field `input` of an outstanding item. */
  readonly input: 'text' | 'number' | 'bool' | 'select' | 'date'
  /** Options to choose from. Only used with `select`. */
  readonly options: readonly { readonly value: string; readonly label: string }[]
  /** The assumed answer, in favor of the insured; undefined if none is assumed. */
  readonly favorable?: Plain
}

const select = (...values: readonly (readonly [value: string, label: string])[]) => values.map(([value, label]) => ({ value, label }))

const questions: readonly Question[] = [
  { key: 'years_in_business', label: 'Years in business', input: 'number', options: [], favorable: 12 },
  {
    key: 'prior_losses',
    label: 'Losses in the last five years',
    input: 'select',
    options: select(['none', 'None'], ['one_or_two', 'One or two'], ['more', 'Three or more']),
    favorable: 'none',
  },
  { key: 'inspected', label: 'The premises were inspected', input: 'bool', options: [], favorable: true },
  {
    key: 'classification',
    label: 'Classification of the operations',
    input: 'select',
    options: select(
      ['contractor', 'Contractor'],
      ['retail', 'Retail or restaurant'],
      ['manufacturer', 'Manufacturer'],
      ['office', 'Office'],
    ),
    favorable: 'office',
  },
  { key: 'annual_revenue', label: 'Annual revenue', input: 'number', options: [] },
  { key: 'employees_full_time', label: 'Full-time employees', input: 'number', options: [] },
  { key: 'wc_total_annual_payroll', label: 'Total annual payroll', input: 'number', options: [] },
  { key: 'auto_vehicle_count', label: 'Number of vehicles', input: 'number', options: [] },
  { key: 'property_tiv_total', label: 'Total insured value', input: 'number', options: [] },
  { key: 'business_started', label: 'Date on which the business started', input: 'date', options: [] },
]

const byKey = new Map(questions.map((question) => [question.key, question]))

export function questionOf(key: string | null): Question | undefined {
  return key === null ? undefined : byKey.get(key)
}

export function labelOf(key: string): string {
  return questionOf(key)?.label ?? key
}

const wanted: Readonly<Record<Question['input'], string>> = {
  text: 'a text that is not blank',
  number: 'a number',
  bool: 'true or false',
  select: 'one of the options',
  date: 'a date like 2027-01-31',
}

/** @returns what is wrong with an answer; null if the answer is valid. */
export function answerProblem(question: Question, value: unknown): string | null {
  const fits = {
    text: () => typeof value === 'string' && value.trim() !== '',
    number: () => typeof value === 'number' && Number.isFinite(value),
    bool: () => typeof value === 'boolean',
    select: () => question.options.some((option) => option.value === value),
    date: () => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
  }[question.input]()
  return fits ? null : `must be ${wanted[question.input]}`
}
