/** What earlier attempts to push a row achieved. The next attempt continues from there. */
export type PushProgress = RecordTaken

/** The target has the record of a document, but not its bytes. */
export interface RecordTaken {
  readonly step: 'record_taken'
  /** The request whose answer follows. */
  readonly answered: 'request' | 'lookup'
  /** Origin of the URL that answered: the only one that gets the credentials. */
  readonly origin: string
  readonly body: string
  /** False if `body` is only the beginning of the answer. */
  readonly isWhole: boolean
  /** A remark for the delivered row. */
  readonly detail: string | null
}
