/** A difference of an answer or a delivery from the specification. It never holds a value of the service. */
export interface Surprise {
  /** Names of fields from the outside in, `[]` for the items of a list and `{}` for a key that is data: `events[].market.region`. */
  readonly path: string
  /** `field`: not named · `value`: not in the vocabulary that the specification lists · `type`: of another type ·
   * `missing`: required, and not there. */
  readonly kind: SurpriseKind
  /** The JSON type that was seen; of a text in another form also which form it lacks (`string, no uuid`). `absent` for a missing field. */
  readonly type: string
}

export const surpriseKinds = ['field', 'value', 'type', 'missing'] as const
export type SurpriseKind = (typeof surpriseKinds)[number]

/** Told of each answer and delivery as it is read. It must not wait. */
export interface DriftWatch {
  /** @param resource the read (`requirements`, `events` …), or `delivery`. */
  look(account: string, resource: string, body: unknown): void
}
