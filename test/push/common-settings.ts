/** Common settings of destinations in tests: everything is sent, to loopback, from now on. */
export const commonSettings = {
  entities: null,
  operations: null,
  eventTypes: null,
  filter: null,
  personalFields: [],
  taxIdFields: [],
  start: 'now',
  backfill: false,
  maxAgeMs: null,
  onDead: 'continue',
  mapping: 'none',
  allowPrivate: true,
  allowHosts: null,
  rps: null,
} as const
