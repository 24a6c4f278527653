import type { Readable } from 'node:stream'
import { itemsOf } from '../../base/paged.ts'
import type { Config } from '../../config/config.ts'
import { type DocumentStorage, MissingDocument } from '../../documents/storage/storage.ts'
import { entities } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { moment } from '../../reconcile/report/words.ts'
import { infoOf } from '../../store/changes/log-info.ts'
import { changesAfter, type LoggedChange } from '../../store/changes/reader.ts'
import { listCompleteness } from '../../store/completeness/completeness.ts'
import { rowsInOrder } from '../../store/engine/keyset.ts'
import { findDeliveries, type InboxEntry, listDeliveries } from '../../store/inbox/queries.ts'
import { listDocuments } from '../../store/mirror/documents.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { purgedAmong } from '../../store/reads/purged.ts'
import { isNarrowed, listRuns, type RunRow } from '../../store/reconcile/runs.ts'
import type { DocumentIndexView } from '../../store/schema/documents.ts'
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
      await auditAction(p.db, note, async () => ({ detail: { files: await packRecord({ ...p, of, opened, pack, gaps: [] }) } }))
    } finally {
      opened.close()
    }
  })
}

/** @returns the number of files. */
async function packRecord(given: Exporting): Promise<number> {
  const { db, clock, config, version, who, of, opened, gaps } = given
  const files: { readonly path: string; readonly sha256: string }[] = []
  const pack: Pack = async (path, content) => {
    const sha256 = await given.pack(path, content)
    files.push({ path, sha256 })
    return sha256
  }
  const p = { ...given, pack }
  const documents = await packDocuments(p)
  await packDeliveries(p)
  gaps.push(...(await knownGaps(p)))
  await pack('record.json', recordJson(p))
  const runs = await runsOf(p)
  const exported_at = timeFromMs(clock.now())
  const check = 'Check the archive with `submission-mirror submission export --check FILE.zip`.'
  const footer = `Exported ${moment(exported_at)} by submission-mirror ${version}. ${check}`
  await pack('index.html', recordPage({ q: db.read, of, opened, runs, documents, gaps }, footer))
  const { log_epoch } = await infoOf(db.read)
  const about = { account: of.account, submission_id: of.submissionId, as_of: { ...opened.asOf, log_epoch } }
  const by = { exported_by: who, exported_at, version, tax_ids: config.protect.mode }
  const reconcile_runs = runs.filter(({ options }) => !isNarrowed(options) || options.submissions !== undefined)
  await pack(MANIFEST, [JSON.stringify({ format: 1, ...about, ...by, reconcile_runs, gaps, files }, null, 2)])
  return files.length
}

/** @returns the paths of the stored files, by document key. */
async function packDocuments({ opened, of, storage, pack, gaps }: Exporting): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>()
  const read = (last?: DocumentIndexView) =>
    listDocuments(opened.rows, { ...of, after: last && { key: last.document_key, account: last.account } }, PAGE)
  for await (const row of itemsOf(PAGE, read)) {
    const name = fileNameOf(row)
    try {
      if (row.stored_path === null) throw new MissingDocument(name, `the mirror: ${row.error ?? row.state}`)
      const path = `documents/${row.document_key}-${name}`
      const sha256 = await pack(path, await storage.read(row.stored_path))
      paths.set(row.document_key, path)
      if (sha256 !== row.sha256) gaps.push(`The file of the document ${name} no longer has the SHA-256 of its download.`)
    } catch (error) {
      if (!(error instanceof MissingDocument)) throw error
      gaps.push(`Not in this archive: ${error.message}.`)
    }
  }
  return paths
}

async function packDeliveries({ config, db, of, opened, pack, gaps }: Exporting): Promise<void> {
  const verifier = new DeliveryVerifier(config.accounts.find(({ name }) => name === of.account)?.webhookSecrets ?? [])
  let [emptied, unverified] = [0, 0]
  const read = (last?: InboxEntry) => listDeliveries(db.read, { ...of, until: opened.asOf.at, after: last?.inbox_id }, PAGE)
  for await (const { inbox_id, delivery_id } of itemsOf(PAGE, read)) {
    const delivery = (await findDeliveries(db.read, delivery_id)).find(({ account }) => account === of.account)
    if (delivery?.body == null) {
      emptied += 1
      continue
    }
    const { body, ...about } = delivery
    const headers = JSON.parse(about.headers) as Record<string, string>
    const result = verifier.verifyAt(msFromTime(about.received_at), headers, body)
    if (!result.ok) unverified += 1
    const secret_tag = result.ok ? verifier.tags[result.secret - 1] : null
    await pack(`${DELIVERIES}${inbox_id}.body`, [body])
    await pack(`${DELIVERIES}${inbox_id}.json`, [JSON.stringify({ ...about, headers, secret_tag }, null, 2)])
  }
  if (emptied > 0) gaps.push(`Webhook deliveries whose body is no longer kept: ${emptied}.`)
  const why = 'the secret was replaced, or tax ids were removed from the body'
  if (unverified > 0) gaps.push(`Webhook deliveries whose signature can't be verified again, because ${why}: ${unverified}.`)
}

/** The rows of each table with the columns of the change log, and the changes. */
async function* recordJson({ db, of, opened: { rows, asOf } }: Exporting): AsyncGenerator<string> {
  const rowsOf = (entity: Entity) => {
    const placeOf = (row: Row) => entity.key.map((column) => row[column] as string | number)
    return itemsOf(PAGE, (last?: Row) => rowsInOrder(rows, entity, {}, last === undefined ? null : placeOf(last), PAGE))
  }
  const readChanges = (last?: LoggedChange) => changesAfter(db.read, last?.seq ?? 0, PAGE, { ...of, until: asOf.seq })
  const lists = (entities as readonly Entity[]).map((entity) => [entity.table, rowsOf(entity)] as const)
  yield `{"as_of":${JSON.stringify(asOf)}`
  for (const [name, items] of [...lists, ['changes', itemsOf(PAGE, readChanges)] as const]) {
    let separator = `,\n"${name}":[\n`
    for await (const item of items) {
      yield `${separator}${JSON.stringify(item)}`
      separator = ',\n'
    }
    yield separator === ',\n' ? ']' : `${separator}]`
  }
  yield '}\n'
}

/** Reconcile runs that may have covered the submission, newest first. */
async function runsOf({ db, of: { account, submissionId }, opened: { asOf } }: Exporting): Promise<RunRow[]> {
  const runs: RunRow[] = []
  const placeOf = (run: RunRow) => ({ requestedAt: run.requested_at, runId: run.run_id })
  const read = (last?: RunRow) => listRuns(db.read, { account, limit: PAGE, after: last && placeOf(last) })
  for await (const run of itemsOf(PAGE, read)) {
    const { dry_run, submissions = [submissionId] } = run.options
    if (dry_run !== true && submissions.includes(submissionId) && (run.started_at ?? asOf.at) < asOf.at) runs.push(run)
  }
  return runs
}

async function knownGaps({ db, config, of, opened }: Exporting): Promise<string[]> {
  const [known] = await listCompleteness(db.read, of, 1)
  const { reconciled_at = null, lost_webhooks = 0, unconfirmed = null } = known ?? {}
  const { days } = config.retention
  return [
    `The record has no changes before ${moment(opened.asOf.since)}, when tracking or the change log begins.`,
    ...(days === null ? [] : [`Webhook deliveries are kept for ${days} days. The record has no older ones.`]),
    ...(lost_webhooks === 0 ? [] : [`Events and messages that no webhook announced: ${lost_webhooks}.`]),
    reconciled_at === null
      ? 'No reconcile run has found the submission equal to the service.'
      : `A reconcile run last found the submission equal to the service at ${moment(reconciled_at)}.`,
    ...(unconfirmed === null ? [] : [`That run could not compare: ${unconfirmed}.`]),
  ]
}
