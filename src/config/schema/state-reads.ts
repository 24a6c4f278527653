/** Values of `STATE_READS`: reads of a submission's state. `requirements`, the only source of lanes and quotes, is always read. */
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
