import { z } from 'zod'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { listDocuments } from '../../store/mirror/documents.ts'
import { type DocumentIndexView, documentStates } from '../../store/schema/documents.ts'
import { HOST_NOT_NAMED, hostNotNamedIn } from '../../upstream/http/elsewhere.ts'
import { checkDocumentFiles, fetchAgain } from '../actions/document-check.ts'
import { retryDocuments } from '../actions/document-retry.ts'
import { refuseUnknownNames } from '../actions/names.ts'
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
  host: z.string().nullable().describe('where its link leads; null: it lies with the service'),
  stored_path: z.string().nullable(),
  stored_bytes: z.int().nullable(),
  sha256: z.string().nullable(),
  stored_at: time.nullable(),
  error: z.string().nullable(),
  is_refused: z.boolean().describe('its host is not named in the settings, so that another attempt would fail too'),
  mend: z.string().nullable().describe('what to do about it; null where nothing failed'),
  tried_at: time.nullable(),
  failing_since: time.nullable().describe('since when every attempt fails'),
  retry_at: time.nullable().describe('when it is fetched again'),
  gone_at: time.nullable(),
})

const list = operation({
  name: 'document.list',
  summary: 'list documents, with where their files are or why they are missing',
  role: 'viewer',
  http: 'GET /documents',
  input: z.strictObject({
    account: ofAccount,
    submission_id: ofSubmission,
    state: z.enum(documentStates).optional().describe('only in this state'),
    search: name.optional().describe("a part of the file's name, words of the insured's name, or the beginning of the submission's id"),
    ...paging,
  }),
  output: pageOf(entry),
  run: async (c, { submission_id: submissionId, limit, cursor, ...asked }) => {
    await refuseUnknownNames(c.db.read, c.config, asked)
    const after = cursor === undefined ? undefined : placeIn(cursor, ['string', 'string'])
    const place = after && { key: after[0], account: after[1] }
    const found = await listDocuments(c.db.read, { ...asked, submissionId, after: place }, limit + 1)
    const { hosts } = c.config.documents
    const shown = found.map(({ document_url, ...document }) => ({
      ...document,
      host: hostOf(document_url),
      is_refused: isRefused(document, hosts),
      mend: mendOf(document),
    }))
    return page(shown, limit, ({ document_key, account }) => [document_key, account])
  },
  table: [
    'Documents',
    [
      ...(['document_key', 'account', 'submission_id', 'name', 'origin', 'state', 'stored_bytes'] as const),
      ['stored or tried', (d, now) => when(d.stored_at ?? d.tried_at, now)],
      'error',
      'mend',
    ],
    'No document.',
  ],
})

function hostOf(link: string | null): string | null {
  return link === null ? null : (URL.parse(link)?.host ?? null)
}

/** Whether the settings refuse it as they are now: a host that was named since is asked at the next attempt. */
function isRefused({ state, error }: Pick<DocumentIndexView, 'state' | 'error'>, named: readonly string[]): boolean {
  return state === 'failed' && error?.startsWith(HOST_NOT_NAMED) === true && !named.includes(hostNotNamedIn(error))
}

/** What a person does about a document that is not there. Its `error` says why. */
function mendOf({ state, error, retry_at }: Pick<DocumentIndexView, 'state' | 'error' | 'retry_at'>): string | null {
  if (state !== 'failed' || error === null) return null
  if (error.startsWith(HOST_NOT_NAMED))
    return `If you trust ${hostNotNamedIn(error)}, add it to DOCUMENT_HOSTS, then reload (settings file) or restart (environment). Otherwise take the file from the service.`
  if (retry_at !== null) return 'Nothing: it is fetched again by itself.'
  if (error.includes('DOCUMENTS_MAX_BYTES'))
    return 'Raise DOCUMENTS_MAX_BYTES, then reload (settings file) or restart (environment). Or take the file from the service.'
  return 'Ask the service for the document, then fetch it again.'
}

const retry = operation({
  name: 'document.retry',
  summary: 'fetch documents again that could not be fetched',
  description: 'A running `serve` fetches them within seconds, whatever their next attempt was.',
  role: 'operator',
  http: 'POST /documents/retry',
  input: z.strictObject({
    keys: z.array(name).min(1).max(500).optional().describe('of the documents; all that failed when left out'),
    account: ofAccount,
  }),
  argument: 'keys',
  output: record('DocumentsRetried', { changed: z.int().describe('how many are fetched again') }),
  run: async (c, { keys, account }) => {
    await refuseUnknownNames(c.db.read, c.config, { account })
    return { changed: await retryDocuments(c, keys, account) }
  },
  print: (to, { changed }) => to.line(`${pluralize(changed, 'document')} will be fetched again`),
})

const lost = record('LostDocument', {
  document_key: z.string(),
  account: z.string(),
  submission_id: z.string().nullable(),
  name: z.string().nullable(),
  stored_path: z.string().nullable(),
  stored_bytes: z.int().nullable().describe('its length by the table'),
  found_bytes: z.int().nullable().describe('its length in the storage; null: it is not there'),
})

const check = operation({
  name: 'document.check',
  summary: 'look whether the file of every stored document is there; exit code 1 when one is not',
  description: 'By its length: a file that was damaged and kept it is not found.',
  role: 'operator',
  http: 'POST /documents/check',
  input: z.strictObject({ repair: z.boolean().default(false).describe('have lost files fetched again') }),
  output: record('DocumentCheck', {
    looked: z.int().describe('how many were looked for'),
    lost: z.array(lost),
    repaired: z.boolean().describe('whether lost ones are fetched again'),
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
      `The files of all ${looked} stored documents are there.`,
    )
    if (lost.length === 0) return
    const next = repaired
      ? 'A running `serve` fetches them again.'
      : 'Is DOCUMENTS_DIR, or the bucket, the one that they were stored in? If it is, `document check --repair` has them fetched again.'
    to.line(`${lost.length} of ${looked} files are missing or of another length. ${next}`)
  },
})

/** `document list|retry|check` */
export const operations = [list, retry, check]
