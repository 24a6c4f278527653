import type { Plain, PlainObject } from './plain.ts'

/** The request that created a submission, as plain data. Generated submissions have none. */

interface Brief {
  /** The accepted body. For a submission from free text and files, the body that the sandbox derived from them. */
  readonly body: PlainObject
  readonly createdAtMs: number
  /** Address for mails to the producer. */
  readonly producerEmail: string
  readonly insuredId: string
  /** Ids of programs that a partner chose. Null if the service matches programs itself. */
  readonly raterPrograms: readonly string[] | null
  /** Id of the credential or user that sent the request. */
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
  /** The file's bytes in base64. */
  readonly bytes: string
}

export interface Assumption {
  readonly key: string
  readonly label: string
  readonly value?: Plain
}

interface QuoteRecord {
  readonly laneId: string
  /** Whether the quote can be bound. If false, the quote is an indication. */
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
  /** Ids of uploaded documents, with their notes. */
  readonly files: { readonly documentId: string; readonly notes: string | null }[]
}

export interface BindRecord {
  readonly id: string
  readonly laneId: string
  readonly quoteId: string | null
  status: string
  /** Whether the request was submitted, even if its status is still `drafted`. */
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
  /** Keys of questions whose answers were cleared. */
  cleared: readonly string[]
  readonly ownership: Record<string, PlainObject>
  /** Number of saved commands. */
  commands: number
  selected: readonly string[] | null
  /** Records by field, then by record id. */
  readonly collections: Record<string, Record<string, PlainObject>>
  /** Receipts by operation id. */
  readonly receipts: Record<string, PlainObject>
}

export interface Records {
  brief: Brief | null
  /** Number of ids that were generated so far. */
  ids: number
  /** Answers by question key. */
  readonly answers: Record<string, Plain>
  readonly documents: StoredDocument[]
  /** Labels of the required files that were provided. */
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

/** Content of a brokerage outside its submissions. */
export interface AccountRecords {
  /** Number of submissions that requests created. */
  created: number
  /** `used` is the number of appetite questions on `day`, a UTC day. */
  readonly appetite: { day: string; used: number }
  /** Disabled lines, by program id. */
  readonly linesOff: Record<string, readonly string[]>
}

export function emptyAccountRecords(): AccountRecords {
  return { created: 0, appetite: { day: '', used: 0 }, linesOff: {} }
}
