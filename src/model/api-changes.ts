/** A difference between the specification and an answer or delivery. Contains no values from the service. */
export interface Surprise {
  /**
   * Path of field names. `[]` is a list item. `{}` means any key, if the keys are
   * data. Example: `events[].market.region`.
   */
  readonly path: string
  /**
   * `field`: field not in the specification. `value`: value not in the listed vocabulary. `type`: different type.
   * `missing`: a required field is missing.
   */
  readonly kind: SurpriseKind
  /** The received JSON type, or `absent`. For malformed text, also the expected form: `string, no uuid`. */
  readonly type: string
}

export const surpriseKinds = ['field', 'value', 'type', 'missing'] as const
export type SurpriseKind = (typeof surpriseKinds)[number]

/** Receives each answer and delivery after it is read. Must return quickly. */
export interface ApiChangeWatch {
  /** @param resource the read (`requirements`, `events`, …), or `delivery`. */
  look(account: string, resource: string, body: unknown): void
}
