import type { Plain, PlainObject } from './plain.ts'

/*
 * What the brokerage wrote and what the service recorded of it, as plain data: a state file keeps it as it is. A generated submission has
 * empty records until somebody writes to it.
 */

/** What a submission was created from. */
export interface Brief {
  /** The accepted body; of an intake, what was read from it. */
  readonly body: PlainObject
  readonly createdAtMs: number
  /** The portal user to whom the submission is attributed. */
  readonly producerEmail: string
  readonly insuredId: string
  /** Programs that a partner chose; null: the service matches. */
  readonly raterPrograms: readonly string[] | null
  /** The public id of the credential or the user that created it. */
  readonly createdBy: string
}

export interface StoredDocument {
  readonly id: string
  readonly source: string
  readonly sourceLabel: string
  readonly displayName: string
  readonly contentType: string
  readonly createdAtMs: number
  readonly kind: string
  readonly kindLabel: string
  /** Base64. */
  readonly bytes: string
}

export interface Assumption {
  readonly key: string
  readonly label: string
  /** Absent when none. */
  readonly value?: Plain
}

/** What a quote was made of. */
export interface QuoteRecord {
  readonly laneId: string
  /** false: an indication. */
  readonly firm: boolean
  readonly assumptions: readonly Assumption[]
}

export interface Contingency {
  readonly id: string
  readonly kind: 'question' | 'signed_form' | 'loss_runs' | 'file_upload'
  readonly label: string
  readonly required: boolean
  status: 'pending' | 'satisfied' | 'waived'
  esignStatus: string | null
  /** Ids of the documents that were uploaded to it, and what was noted with them. */
  readonly files: { readonly documentId: string; readonly notes: string | null }[]
}

export interface BindRecord {
  readonly id: string
  readonly laneId: string
  readonly quoteId: string
  status: string
  /** Whether the brokerage submitted it; the status may say so as well. */
  isSubmitted?: boolean
  paymentOption: string | null
  readonly requestedAtMs: number
  readonly requestedBy: string | null
  /** Assumptions of the quote that nobody has confirmed. */
  unconfirmed: Assumption[]
  readonly contingencies: Contingency[]
}

/** What was saved of one carrier application, beyond what it shows by itself. */
export interface ApplicationRecord {
  readonly answers: Record<string, Plain>
  /** Questions whose answers were cleared. */
  cleared: readonly string[]
  readonly ownership: Record<string, PlainObject>
  /** How many commands changed its answers. */
  commands: number
  selected: readonly string[] | null
  /** Records of each collection by field and record id. */
  readonly collections: Record<string, Record<string, PlainObject>>
  /** What each operation was answered. */
  readonly receipts: Record<string, PlainObject>
}

export interface Records {
  brief: Brief | null
  /** How many ids were given out. */
  ids: number
  /** Answers of the broker beyond the brief, by question. */
  readonly answers: Record<string, Plain>
  readonly documents: StoredDocument[]
  /** Labels of files that programs need and the brokerage has sent. */
  provided?: readonly string[]
  readonly quotes: Record<string, QuoteRecord>
  readonly binds: BindRecord[]
  /** The message of each turn by its `Idempotency-Key`. */
  readonly messagesByKey: Record<string, string>
  readonly applications: Record<string, ApplicationRecord>
  selectionRevision: number
  selectedPrograms: readonly string[]
}

export function emptyRecords(): Records {
  return {
    brief: null,
    ids: 0,
    answers: {},
    documents: [],
    quotes: {},
    binds: [],
    messagesByKey: {},
    applications: {},
    selectionRevision: 1,
    selectedPrograms: [],
  }
}

/** What the service keeps of a brokerage. */
export interface AccountRecords {
  /** How many submissions the API has created. */
  created: number
  /** Appetite questions of one day of the service's clock. */
  readonly appetite: { day: string; used: number }
  /** Lines that were turned off, by program id. */
  readonly linesOff: Record<string, readonly string[]>
}

export function emptyAccountRecords(): AccountRecords {
  return { created: 0, appetite: { day: '', used: 0 }, linesOff: {} }
}
