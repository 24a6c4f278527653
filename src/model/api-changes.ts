/** A difference between the spec and an answer or delivery. Contains no values of the service. */
export interface Surprise {
  /** Path of field names. `[]` is a list item, `{}` is a key that is data: `events[].market.region`. */
  readonly path: string
  /** `field`: not in the spec · `value`: not in the listed vocabulary · `type`: another type · `missing`: required but missing. */
  readonly kind: SurpriseKind
  /** The received JSON type, or `absent`. A malformed text also gets its expected form: `string, no uuid`. */
  readonly type: string
}

export const surpriseKinds = ['field', 'value', 'type', 'missing'] as const
export type SurpriseKind = (typeof surpriseKinds)[number]

/** Receives each answer and delivery when read. Must not block. */
export interface ApiChangeWatch {
  /** @param resource the read (`requirements`, `events` …), or `delivery`. */
  look(account: string, resource: string, body: unknown): void
}
