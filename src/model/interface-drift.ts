/** Something in an answer or a delivery that the specification does not name. It never holds a value of the service. */
export interface Surprise {
  /** Names of fields from the outside in, `[]` for the items of a list and `{}` for a key that is data: `events[].market.region`. */
  readonly path: string
  /** `field`: not named · `value`: not in the vocabulary that the specification lists · `type`: of another type. */
  readonly kind: SurpriseKind
  /** The JSON type that was seen; of a text in another form also which form it lacks (`string, no uuid`). */
  readonly type: string
}

export const surpriseKinds = ['field', 'value', 'type'] as const
export type SurpriseKind = (typeof surpriseKinds)[number]

/** Takes note of what is read beyond the specification. Called for each answer that has any; it must not wait. */
export interface DriftWatch {
  /** @param resource the read (`requirements`, `events` …), or what the delivery is. */
  note(account: string, resource: string, surprises: readonly Surprise[]): void
}

/** Looks at nothing: for commands and tests that keep no record. */
export const noDriftWatch: DriftWatch = { note() {} }
