import type { Plain, PlainObject } from './plain.ts'

/** Written content of submissions, as plain data. Empty for generated submissions without writes. */

interface Brief {
  /** The accepted body, or the body read from an intake. */
  readonly body: PlainObject
  readonly createdAtMs: number
  /** The submission's portal user. */
  readonly producerEmail: string
  readonly insuredId: string
  /** Programs chosen by a partner; null: the service matches. */
  readonly raterPrograms: readonly string[] | null
  /** Id of the credential or user. */
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
  readonly value?: Plain
}

interface QuoteRecord {
  readonly laneId: string
  /** false: the quote is an indication. */
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
  /** Uploaded documents and their notes. */
  readonly files: { readonly documentId: string; readonly notes: string | null }[]
}

export interface BindRecord {
  readonly id: string
  readonly laneId: string
  readonly quoteId: string | null
  status: string
  /** Whether the request was submitted, independent of its status. */
  isSubmitted?: boolean
  paymentOption: string | null
  readonly requestedAtMs: number
  readonly requestedBy: string | null
  unconfirmed: Assumption[]
  readonly contingencies: Contingency[]
}

/** Saved content of a carrier application. */
export interface ApplicationRecord {
  readonly answers: Record<string, Plain>
  /** Cleared questions. */
  cleared: readonly string[]
  readonly ownership: Record<string, PlainObject>
  /** Number of saved commands. */
  commands: number
  selected: readonly string[] | null
  /** By field and record id. */
  readonly collections: Record<string, Record<string, PlainObject>>
  /** By operation id. */
  readonly receipts: Record<string, PlainObject>
}

export interface Records {
  brief: Brief | null
  /** Number of used ids. */
  ids: number
  /** By question. */
  readonly answers: Record<string, Plain>
  readonly documents: StoredDocument[]
  /** Labels of required files that were sent. */
  provided?: readonly string[]
  readonly quotes: Record<string, QuoteRecord>
  readonly binds: BindRecord[]
  /** Message ids by `Idempotency-Key`. */
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

/** A brokerage's content. */
export interface AccountRecords {
  /** Number of submissions created by the API. */
  created: number
  /** Appetite questions of one day. */
  readonly appetite: { day: string; used: number }
  /** Disabled lines, by program id. */
  readonly linesOff: Record<string, readonly string[]>
}

export function emptyAccountRecords(): AccountRecords {
  return { created: 0, appetite: { day: '', used: 0 }, linesOff: {} }
}
