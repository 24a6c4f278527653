import type { SubmissionFacts } from './wire.ts'

/** The facts of a submission that is added without any. */
export const plainFacts: SubmissionFacts = {
  insured_name: 'Plain Oak Holdings LLC',
  lines: ['general_liability'],
  effective_date: '2027-01-01',
  state: 'TX',
  forms: ['acord_125'],
  marketing_status: 'not_started',
  marketing_hint: null,
  form_fill_active: false,
  documents_on_file: [],
}
