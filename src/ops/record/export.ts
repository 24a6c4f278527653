import type { Readable } from 'node:stream'
import { itemsOf } from '../../base/paged.ts'
import type { Config } from '../../config/config.ts'
import { type DocumentStorage, MissingDocument } from '../../documents/storage/storage.ts'
import type { DocumentRow } from '../../model/entities/documents.ts'
import { entities } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { linkMarkup } from '../../reconcile/report/html.ts'
import { html, type Markup } from '../../reconcile/report/markup.ts'
import { moment } from '../../reconcile/report/words.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter, type LoggedChange } from '../../store/changes/reader.ts'
import { listCompleteness } from '../../store/completeness/completeness.ts'
import { findDeliveries, type InboxEntry, listDeliveries } from '../../store/inbox/queries.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { purgedAmong } from '../../store/reads/purged.ts'
import { specWithoutRaw } from '../../store/schema/table.ts'
import { readDelivery } from '../../upstream/webhook/delivery.ts'
import { DeliveryVerifier } from '../../upstream/webhook/signature.ts'
import { type Opened, openMoment } from '../actions/as-of.ts'
import type { ActionContext } from '../actions/context.ts'
import { fileNameOf } from '../actions/documents.ts'
import { NotFoundError } from '../output/refusals.ts'
import { DELIVERIES, MANIFEST } from './check.ts'
import { recordPage } from './page.ts'
import { type Pack, zipOf } from './zip.ts'

const PAGE = 500

export interface ExportParts extends ActionContext {
  readonly config: Pick<Config, 'accounts' | 'protect' | 'retention'>
  readonly storage: DocumentStorage
  readonly version: string
}

interface Exporting extends ExportParts {
  readonly of: SubmissionRef
  readonly opened: Opened
  readonly pack: Pack
  /** What was verified. */
  readonly checks: string[]
  /** What is known to be missing. */
  readonly gaps: string[]
}

/**
 * Exports everything about a submission until a time as a ZIP archive, and audits it.
 * @param until undefined: now. @throws NotFoundError, before the first byte, if it can't be exported.
 */
export async function exportRecord(p: ExportParts, of: SubmissionRef, until: TimeText | undefined): Promise<Readable> {
  const { account, submissionId } = of
  const purged = await purgedAmong(p.db.read, [{ account, submission_id: submissionId }])
  if (purged.size > 0) throw new NotFoundError([`submission ${submissionId} was purged, so it can't be exported`])
  const opened = await openMoment(p.db.read, of, { at: until ?? timeFromMs(p.clock.now()), by: 'learned' })
  const note = { who: p.who, action: 'submission.export', target: account, detail: { submission: submissionId, until: opened.asOf.at } }
  return zipOf(new Date(p.clock.now()), async (pack) => {
    try {
      const parts = { ...p, of, opened, pack, checks: [], gaps: [] }
      await auditAction(p.db, note, async () => ({ detail: { files: await packRecord(parts) } }))
    } finally {
      opened.close()
    }
  })
}

/** @returns the number of files. */
async function packRecord(p: Exporting): Promise<number> {
  const { db, clock, config, version, who, of, opened, checks, gaps } = p
  const files: { readonly path: string; readonly sha256: string }[] = []
  const pack: Pack = async (path, content) => {
    const sha256 = await p.pack(path, content)
    files.push({ path, sha256 })
    return sha256
  }
  const tables = new Map<string, Row[]>()
  for (const entity of entities) tables.set(entity.table, await opened.rows.selectWhere(specWithoutRaw(entity), { account: of.account }))
  const readChanges = (last?: LoggedChange) => changesAfter(db.read, last?.seq ?? 0, PAGE, { ...of, until: opened.asOf.seq })
  const changes: LoggedChange[] = []
  for await (const change of itemsOf(PAGE, readChanges)) changes.push(change)
  const documents = await packDocuments({ ...p, pack }, (tables.get('documents') ?? []) as unknown as DocumentRow[])
  const deliveries = await packDeliveries({ ...p, pack })
  await addCompleteness(p)
  await pack('record.json', [JSON.stringify({ as_of: opened.asOf, ...Object.fromEntries(tables), changes }, null, 1)])
  const exported_at = timeFromMs(clock.now())
  const footer = `Exported ${moment(exported_at)} by submission-mirror ${version}.`
  await pack('index.html', [await recordPage({ of, opened, tables, changes, documents, deliveries, checks, gaps }, footer)])
  const { log_epoch } = await infoOf(db.read)
  const about = { account: of.account, submission_id: of.submissionId, as_of: { ...opened.asOf, log_epoch } }
  const by = { exported_by: who, exported_at, version, tax_ids: config.protect.mode }
  await pack(MANIFEST, [JSON.stringify({ format: 1, ...about, ...by, checks, gaps, files }, null, 2)])
  return files.length
}

/** @returns the paths of the stored files, by document key. */
async function packDocuments({ storage, pack, checks, gaps }: Exporting, documents: readonly DocumentRow[]): Promise<Map<string, string>> {
  const paths = new Map<string, string>()
  for (const { document_key, name, stored_path, sha256, error } of documents) {
    const file = fileNameOf({ document_key, name })
    try {
      if (stored_path === null) throw new MissingDocument(file, `the mirror, because ${error ?? 'it has not been fetched yet'}`)
      const path = `documents/${document_key}-${file}`
      if ((await pack(path, await storage.read(stored_path))) !== sha256) gaps.push(`The file ${file} changed since its download.`)
      paths.set(document_key, path)
    } catch (error) {
      if (!(error instanceof MissingDocument)) throw error
      gaps.push(`The document ${file} is not in this archive: ${error.message}.`)
    }
  }
  checks.push(`Documents: the SHA-256 of each stored file was computed at the download and again at the export. Files: ${paths.size}.`)
  return paths
}

/** @returns the deliveries, in words, by the ids of their events and messages. */
async function packDeliveries({ config, db, of, opened, pack, checks, gaps }: Exporting): Promise<Map<string, Markup>> {
  const verifier = new DeliveryVerifier(config.accounts.find(({ name }) => name === of.account)?.webhookSecrets ?? [])
  const deliveries = new Map<string, Markup>()
  const count = { verified: 0, unverified: 0, emptied: 0 }
  const read = (last?: InboxEntry) => listDeliveries(db.read, { ...of, until: opened.asOf.at, after: last?.inbox_id }, PAGE)
  for await (const { inbox_id, delivery_id } of itemsOf(PAGE, read)) {
    const delivery = (await findDeliveries(db.read, delivery_id)).find(({ account }) => account === of.account)
    if (delivery?.body == null) {
      count.emptied += 1
      continue
    }
    const { body, ...about } = delivery
    const headers = JSON.parse(about.headers) as Record<string, string>
    const result = verifier.verifyAt(msFromTime(about.received_at), headers, body)
    count[result.ok ? 'verified' : 'unverified'] += 1
    const secret_tag = result.ok ? verifier.tags[result.secret - 1] : null
    const path = `${DELIVERIES}${inbox_id}`
    await pack(`${path}.txt`, [body])
    await pack(`${path}.json`, [JSON.stringify({ ...about, headers, secret_tag }, null, 2)])
    const { message, events } = readDelivery(body)
    const ids = message === null ? events.map(({ event }) => event.event_id) : [message.message.message.message_id]
    const link = linkMarkup({ text: `${path}.txt`, href: `${path}.txt` })
    const source = html`signed delivery ${delivery_id}, received ${moment(about.received_at)}, signature checked with webhook secret ${about.secret} (see ${link}).`
    // The earliest delivery of an event or message comes last.
    for (const id of ids) deliveries.set(id, source)
  }
  const { verified, unverified, emptied } = count
  checks.push(`Signed deliveries in this archive, including repeats: ${verified + unverified}. Signatures that match now: ${verified}.`)
  const why = 'the secret was replaced, or a tax id was removed from the text'
  if (unverified > 0) gaps.push(`Signatures that matched on receipt but can't be checked again, because ${why}: ${unverified}.`)
  if (emptied > 0) gaps.push(`Signed deliveries whose text is no longer kept: ${emptied}.`)
  return deliveries
}

async function addCompleteness({ db, config, of, opened, checks, gaps }: Exporting): Promise<void> {
  const [known] = await listCompleteness(db.read, of, 1)
  const { reconciled_at = null, reconciled_by = null, lost_webhooks = 0, unconfirmed = null } = known ?? {}
  const { at, since } = opened.asOf
  const { days } = config.retention
  const isReconciled = reconciled_at !== null && reconciled_at <= at
  const run = 'Reconcile runs compare the mirror with the service and correct differences.'
  if (isReconciled) checks.push(`${run} Run \`${reconciled_by}\` found this submission equal to the service on ${moment(reconciled_at)}.`)
  else gaps.push(`${run} No run is known to have found this submission equal to the service by then.`)
  if (isReconciled && unconfirmed !== null) gaps.push(`The reconcile run could not compare: ${unconfirmed}.`)
  gaps.push(`The mirror has no changes before ${moment(since)}.`)
  if (days !== null) gaps.push(`The mirror keeps signed deliveries for ${days} days. This archive has no older ones.`)
  if (lost_webhooks > 0)
    gaps.push(`Events and messages for which the service's delivery never arrived: ${lost_webhooks}. They were fetched.`)
}
