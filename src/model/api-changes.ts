/** A difference of an answer or a delivery from the spec. It never contains a value of the service. */
export interface Surprise {
  /** Field names from the outside in, `[]` for list items and `{}` for a key that is data: `events[].market.region`. */
  readonly path: string
  /** `field`: not in the spec · `value`: not in the listed vocabulary · `type`: another type · `missing`: required but missing. */
  readonly kind: SurpriseKind
  /** The JSON type that was seen, for a text in another form also the expected form (`string, no uuid`). `absent` for a missing field. */
  readonly type: string
}

export const surpriseKinds = ['field', 'value', 'type', 'missing'] as const
export type SurpriseKind = (typeof surpriseKinds)[number]

/** Receives each answer and delivery as it is read. Must not wait. */
export interface ApiChangeWatch {
  /** @param resource the read (`requirements`, `events` …), or `delivery`. */
  look(account: string, resource: string, body: unknown): void
}
