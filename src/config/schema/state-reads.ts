/**
 * Values of `STATE_READS`: the reads of a submission's state. `requirements` is always read, because it is the only
 * source of lanes and quotes.
 */
export const stateReadNames = [
  'requirements',
  'outstanding',
  'workspace',
  'sessions',
  'bind_request',
  'policy',
  'insured',
  'document',
] as const
export type StateReadName = (typeof stateReadNames)[number]
