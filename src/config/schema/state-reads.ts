/** What `STATE_READS` may name: the reads of a submission's state. `requirements` is always made: it is the one source of lanes and quotes. */
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
