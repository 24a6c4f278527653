import type { Readable } from 'node:stream'
import { itemsOf } from '../../base/paged.ts'
import type { Config } from '../../config/config.ts'
import { createDocumentStorage } from '../../documents/storage/create.ts'
import { MissingDocument } from '../../documents/storage/storage.ts'
import type { DocumentRow } from '../../model/entities/documents.ts'
import { entities } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { moment, pluralize } from '../../reconcile/report/words.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter, type LoggedChange } from '../../store/changes/reader.ts'
import { listCompleteness } from '../../store/completeness/completeness.ts'
import { findDeliveries, type InboxEntry, listDeliveries } from '../../store/inbox/queries.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { purgedAmong } from '../../store/reads/purged.ts'
import { specWithoutRaw } from '../../store/schema/table.ts'
import { readDelivery } from '../../upstream/webhook/delivery.ts'
import { DeliveryVerifier } from '../../upstream/webhook/signature.ts'
import { readMoment } from '../actions/as-of.ts'
import type { ActionContext } from '../actions/context.ts'
import { fileNameOf } from '../actions/documents.ts'
import { NotFoundError } from '../output/refusals.ts'
import { DELIVERIES, MANIFEST, type PackedDelivery } from './check.ts'
import { entriesOf } from './chronology.ts'
import { recordPage } from './page.ts'
import { type RecordData, rowsOf } from './sections.ts'
import { type Pack, type Packed, zipOf } from './zip.ts'

const PAGE = 500
const DAY_MS = 86_400_000

export interface ExportParts extends ActionContext {
  readonly config: Config
  readonly version: string
}

/**
 * Exports everything about a submission until a time as a ZIP archive, and audits the export.
 * @param until end of the exported history. If undefined, the current time is the end.
 * @throws NotFoundError, before the first byte, if the submission can't be exported.
 */
export async function exportRecord(p: ExportParts, of: SubmissionRef, until: TimeText | undefined): Promise<Readable> {
  const { account, submissionId } = of
  const purged = await purgedAmong(p.db.read, [{ account, submission_id: submissionId }])
  if (purged.size > 0) throw new NotFoundError([`submission ${submissionId} was purged, so it can't be exported`])
  const at = until ?? timeFromMs(p.clock.now())
  const record = await readMoment(p.db.read, of, { at, by: 'learned' }, async (rows, asOf): Promise<RecordData> => {
    const tables = new Map<string, Row[]>()
    for (const entity of entities) tables.set(entity.table, await rows.selectWhere(specWithoutRaw(entity), { account }))
    return { of, asOf, tables, changes: [], documents: new Map(), deliveries: new Map(), checks: [], gaps: [] }
  })
  const note = { who: p.who, action: 'submission.export', target: account, detail: { submission: submissionId, until: at } }
  return zipOf(new Date(p.clock.now()), async (pack, files) => {
    await auditAction(p.db, note, async () => {
      await packRecord(p, record, pack, files)
      return { detail: { files: files.length } }
    })
  })
}

async function packRecord(p: ExportParts, r: RecordData, pack: Pack, files: Packed): Promise<void> {
  const { db, clock, config, version, who } = p
  const { of, asOf, tables, changes, checks, gaps } = r
  const readChanges = (last?: LoggedChange) => changesAfter(db.read, last?.seq ?? 0, PAGE, { ...of, until: asOf.seq })
  for await (const change of itemsOf(PAGE, readChanges)) changes.push(change)
  await packDocuments(p, r, pack)
  await packDeliveries(p, r, pack)
  await addCompleteness(p, r)
  await pack('record.json', [JSON.stringify({ as_of: asOf, ...Object.fromEntries(tables), changes }, null, 1)])
  const exported_at = timeFromMs(clock.now())
  await pack('index.html', [recordPage(r, `Exported ${moment(exported_at)} by submission-mirror ${version}.`)])
  const { log_epoch } = await infoOf(db.read)
  const about = { account: of.account, submission_id: of.submissionId, as_of: { ...asOf, log_epoch } }
  const by = { exported_by: who, exported_at, version, tax_ids: config.protect.mode }
  await pack(MANIFEST, [JSON.stringify({ format: 1, ...about, ...by, checks, gaps, files }, null, 2)])
}

async function packDocuments({ config }: ExportParts, r: RecordData, pack: Pack): Promise<void> {
  const storage = createDocumentStorage(config)
  let changed = 0
  for (const { document_key, name, stored_path, sha256, error } of rowsOf(r, 'documents') as unknown as DocumentRow[]) {
    const file = fileNameOf({ document_key, name })
    try {
      if (stored_path === null) throw new MissingDocument(file, `the mirror, because ${error ?? 'it has not been fetched yet'}`)
      const path = `documents/${document_key}-${file}`
      if ((await pack(path, await storage.read(stored_path))) !== sha256) {
        changed += 1
        r.gaps.push(`The file ${file} changed since its download.`)
      }
      r.documents.set(document_key, path)
    } catch (error) {
      if (!(error instanceof MissingDocument)) throw error
      r.gaps.push(`The document ${file} is not in this archive: ${error.message}.`)
    }
  }
  const equal = r.documents.size - changed
  r.checks.push(`Documents: at the export, ${equal} of ${pluralize(r.documents.size, 'stored file')} had the SHA-256 of the download.`)
}

async function packDeliveries({ config, db }: ExportParts, { of, asOf, deliveries, checks, gaps }: RecordData, pack: Pack): Promise<void> {
  const verifier = new DeliveryVerifier(config.accounts.find(({ name }) => name === of.account)?.webhookSecrets ?? [])
  const count = { kept: 0, verified: 0, emptied: 0 }
  const read = (last?: InboxEntry) => listDeliveries(db.read, { ...of, until: asOf.at, after: last?.inbox_id }, PAGE)
  for await (const { inbox_id, delivery_id } of itemsOf(PAGE, read)) {
    const delivery = (await findDeliveries(db.read, delivery_id)).find(({ account }) => account === of.account)
    count[delivery?.body == null ? 'emptied' : 'kept'] += 1
    if (delivery?.body == null) continue
    const { body, ...about } = delivery
    const headers = JSON.parse(about.headers) as Record<string, string>
    const result = verifier.verifyAt(msFromTime(about.received_at), headers, body)
    count.verified += Number(result.ok)
    const secret_tag = result.ok ? (verifier.tags[result.secret - 1] ?? null) : null
    const href = `${DELIVERIES}${inbox_id}.txt`
    await pack(href, [body])
    await pack(`${DELIVERIES}${inbox_id}.json`, [JSON.stringify({ ...about, headers, secret_tag } satisfies PackedDelivery, null, 2)])
    const { message, events } = readDelivery(body)
    const ids = message === null ? events.map(({ event }) => event.event_id) : [message.message.message.message_id]
    const checked = `received ${moment(about.received_at)}, signature checked with webhook secret ${about.secret}`
    // The loop ends with the oldest delivery, so each event or message keeps the link to its earliest delivery.
    for (const id of ids) deliveries.set(id, { text: `signed delivery ${delivery_id}, ${checked} (${href})`, href })
  }
  const why = ' The others matched on receipt. Since then, the secret was replaced, or a tax id was removed from the text.'
  const others = count.kept > count.verified ? why : ''
  checks.push(`Signed deliveries in this archive, including repeats: ${count.kept}. Signatures that match now: ${count.verified}.${others}`)
  if (count.emptied > 0) gaps.push(`Signed deliveries whose text is no longer kept: ${count.emptied}.`)
}

async function addCompleteness({ db, clock, config }: ExportParts, r: RecordData): Promise<void> {
  const { of, asOf, checks, gaps } = r
  const [{ reconciled_at = null, reconciled_by, unconfirmed } = {}] = await listCompleteness(db.read, of, 1)
  const run = 'Reconcile runs compare the mirror with the service and correct differences.'
  if (reconciled_at === null || reconciled_at > asOf.at) gaps.push(`${run} No run is known to have ended without a difference by then.`)
  else {
    const equal = "no difference between the mirror's copy and what the service then showed"
    checks.push(
      `${run} Run \`${reconciled_by}\` ended on ${moment(reconciled_at)} with ${equal}. It compares data, not the files of documents.`,
    )
    if (unconfirmed) gaps.push(`The reconcile run could not compare: ${unconfirmed}.`)
  }
  const start = moment(asOf.since)
  const earlier = 'For earlier times, it has what the service still showed when it was asked; earlier changes may be missing.'
  const isFirst = asOf.since === rowsOf(r, 'submissions')[0]?.['tracked_at']
  const observed = `The mirror did not observe this submission before ${start}. ${earlier}`
  gaps.push(isFirst ? observed : `The mirror no longer has the changes before ${start}.`)
  const { days } = config.retention
  if (days !== null) {
    const kept = timeFromMs(clock.now() - days * DAY_MS)
    const isAllKept = String(rowsOf(r, 'submissions')[0]?.['tracked_at']) > kept
    const all = `Tracking began less than ${days} days before this export, so none was deleted for age under this setting.`
    const some = `This archive may lack those received before ${moment(kept)}.`
    gaps.push(`The mirror keeps signed deliveries for ${days} days. Older ones are deleted. ${isAllKept ? all : some}`)
  }
  const undelivered = entriesOf(r).flatMap(({ isUndelivered, at, title }) => (isUndelivered ? `${title} (${moment(at)})` : []))
  const since = 'Since tracking began, these were fetched because no delivery had arrived (earlier history is not counted)'
  if (undelivered.length > 0) gaps.push(`${since}: ${undelivered.join('; ')}.`)
}
