import { z } from 'zod'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { listDocuments } from '../../store/mirror/documents.ts'
import { type DocumentIndexView, documentStates } from '../../store/schema/documents.ts'
import { HOST_NOT_LISTED, unlistedHostIn } from '../../upstream/http/elsewhere.ts'
import { checkDocumentFiles, fetchAgain, retryDocuments } from '../actions/documents.ts'
import { record, time } from '../output/schema.ts'
import { pluralize, when } from '../output/text.ts'
import { name, ofAccount, ofSubmission, page, pageOf, paging, placeIn } from './inputs.ts'
import { operation } from './operation.ts'

const entry = record('Document', {
  document_key: z.string(),
  account: z.string(),
  submission_id: z.string().nullable(),
  insured_name: z.string().nullable(),
  document_id: z.string().nullable(),
  origin: z.string().nullable(),
  name: z.string().nullable(),
  source_label: z.string().nullable(),
  content_type: z.string().nullable(),
  created_at: time.nullable(),
  state: z.enum(documentStates),
  host: z.string().nullable().describe('host of its link; null: the service'),
  stored_path: z.string().nullable(),
  stored_bytes: z.int().nullable(),
  sha256: z.string().nullable(),
  stored_at: time.nullable(),
  error: z.string().nullable(),
  is_refused: z.boolean().describe('its host is not listed in the settings, so retrying fails'),
  fix: z.string().nullable().describe('what to do; null if nothing failed'),
  tried_at: time.nullable(),
  failing_since: time.nullable().describe('when attempts began to fail'),
  retry_at: time.nullable().describe('next attempt'),
  gone_at: time.nullable(),
})

const list = operation({
  name: 'document.list',
  summary: 'list documents with the location of each file, or why it is missing',
  role: 'viewer',
  http: 'GET /documents',
  input: z.strictObject({
    account: ofAccount,
    submission_id: ofSubmission,
    state: z.enum(documentStates).optional().describe('only in this state'),
    search: name.optional().describe('part of the file name, words of the insured name, or the start of the submission id'),
    ...paging,
  }),
  output: pageOf(entry),
  run: async (c, { submission_id: submissionId, limit, cursor, ...asked }) => {
    const after = cursor === undefined ? undefined : placeIn(cursor, ['string', 'string'])
    const place = after && { key: after[0], account: after[1] }
    const found = await listDocuments(c.db.read, { ...asked, submissionId, after: place }, limit + 1)
    const { hosts } = c.config.documents
    const shown = found.map(({ document_url, ...document }) => ({
      ...document,
      host: hostOf(document_url),
      is_refused: isRefused(document, hosts),
      fix: fixOf(document),
    }))
    return page(shown, limit, ({ document_key, account }) => [document_key, account])
  },
  table: [
    'Documents',
    [
      ...(['document_key', 'account', 'submission_id', 'name', 'origin', 'state', 'stored_bytes'] as const),
      ['stored or tried', (d, now) => when(d.stored_at ?? d.tried_at, now)],
      'error',
      'fix',
    ],
    'No documents.',
  ],
})

function hostOf(link: string | null): string | null {
  return link === null ? null : (URL.parse(link)?.host ?? null)
}

/** @returns true if fetching failed because of an unlisted host, and the settings still don't list the host. */
function isRefused({ state, error }: Pick<DocumentIndexView, 'state' | 'error'>, named: readonly string[]): boolean {
  return state === 'failed' && error?.startsWith(HOST_NOT_LISTED) === true && !named.includes(unlistedHostIn(error))
}

function fixOf({ state, error, retry_at }: Pick<DocumentIndexView, 'state' | 'error' | 'retry_at'>): string | null {
  if (state !== 'failed' || error === null) return null
  if (error.startsWith(HOST_NOT_LISTED))
    return `If you trust ${unlistedHostIn(error)}, add it to DOCUMENT_HOSTS, then reload (settings file) or restart (environment). Otherwise download the file from the service.`
  if (retry_at !== null) return 'No action required. It is fetched again automatically.'
  if (error.includes('DOCUMENTS_MAX_BYTES'))
    return 'Raise DOCUMENTS_MAX_BYTES, then reload (settings file) or restart (environment). Or download the file from the service.'
  return 'Ask the service for the document, then fetch it again.'
}

const retry = operation({
  name: 'document.retry',
  summary: 'fetch failed documents again',
  description: 'A running `serve` fetches them within seconds.',
  role: 'operator',
  http: 'POST /documents/retry',
  input: z.strictObject({
    keys: z.array(name).min(1).max(500).optional().describe('document keys; all failed documents if omitted'),
    account: ofAccount,
  }),
  argument: 'keys',
  output: record('DocumentsRetried', { changed: z.int().describe('documents that are fetched again') }),
  run: async (c, { keys, account }) => ({ changed: await retryDocuments(c, keys, account) }),
  print: (to, { changed }) => to.line(`${pluralize(changed, 'document')} will be fetched again`),
})

const lost = record('LostDocument', {
  document_key: z.string(),
  account: z.string(),
  submission_id: z.string().nullable(),
  name: z.string().nullable(),
  stored_path: z.string().nullable(),
  stored_bytes: z.int().nullable().describe('length in the table'),
  found_bytes: z.int().nullable().describe('length in storage; null: missing'),
})

const check = operation({
  name: 'document.check',
  summary: 'check that the file of every stored document exists; exit code 1 if one does not',
  description: 'Compares the length only. A damaged file of the same length is not detected.',
  role: 'operator',
  http: 'POST /documents/check',
  input: z.strictObject({ repair: z.boolean().default(false).describe('fetch lost files again') }),
  output: record('DocumentCheck', {
    looked: z.int().describe('files checked'),
    lost: z.array(lost),
    repaired: z.boolean().describe('whether lost files are fetched again'),
  }),
  exit: ({ lost }) => (lost.length > 0 ? 1 : 0),
  run: async (c, { repair: repaired }) => {
    const { looked, lost } = await checkDocumentFiles(c, createDocumentStorage(c.config))
    if (repaired && lost.length > 0) await fetchAgain(c, lost)
    return { looked, lost, repaired }
  },
  print: (to, { looked, lost, repaired }) => {
    to.rows(
      'Lost files',
      lost,
      ['document_key', 'account', 'submission_id', 'name', ['path', (d) => d.stored_path], 'stored_bytes', 'found_bytes'],
      `${pluralize(looked, 'file')} checked, none lost.`,
    )
    if (lost.length === 0) return
    const next = repaired
      ? 'A running `serve` fetches them again.'
      : 'Check that DOCUMENTS_DIR or the bucket is the right one. Then run `document check --repair` to fetch them again.'
    to.line(`${lost.length} of ${looked} files are missing or have the wrong length. ${next}`)
  },
})

export const operations = [list, retry, check]
