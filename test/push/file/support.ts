import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, type ManualClock, systemClock } from '../../../src/base/clock.ts'
import type { FileDestination } from '../../../src/config/config.ts'
import type { DeliveryKind, Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import type { OpenDocument } from '../../../src/push/contract/documents.ts'
import { createFile } from '../../../src/push/kinds/file.ts'
import { silentLog } from '../../tools/databases.ts'
import { commonSettings } from '../common-settings.ts'
import { itemOf } from '../http/support.ts'

export function fileDestination(target: FileDestination['target'], changes: Partial<FileDestination> = {}): FileDestination {
  return {
    ...commonSettings,
    kind: 'file',
    name: 'agency',
    accounts: ['acme'],
    timeoutMs: 20_000,
    scheduleMs: [5_000],
    concurrency: 1,
    idempotent: true,
    format: 'ndjson',
    per: 'batch',
    target,
    byteOrderMark: false,
    maxRows: 10_000,
    gatherMs: 0,
    documents: false,
    ...changes,
  }
}

export function fileKind(destination: FileDestination, clock: Clock = systemClock, openDocument?: OpenDocument): DeliveryKind {
  return createFile(destination, { clock, log: silentLog, proxy: {}, ...(openDocument && { openDocument }) })
}

export function folderKind(path: string, changes: Partial<FileDestination> = {}, clock: Clock = systemClock): DeliveryKind {
  return fileKind(fileDestination({ type: 'folder', path }, changes), clock)
}

export function submissionOf(n: number): string {
  return `6f1f5c0e-0000-4000-8000-00000000000${n % 3}`
}

export function pushItem(n: number, changes: Partial<PushItem> = {}): PushItem {
  return itemOf({
    outboxId: n,
    messageId: `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`,
    destination: 'agency',
    submissionId: submissionOf(n),
    entityId: JSON.stringify([submissionOf(n), `event-${n}`]),
    seq: 1_000 + n,
    changedAt: '2026-11-21T12:00:00.000000Z',
    after: { account: 'acme', submission_id: submissionOf(n), event_id: `event-${n}`, type: 'quote_received', status: 'quoted' },
    submission: null,
    ...changes,
  })
}

export function pushItems(count: number, from = 1): PushItem[] {
  return Array.from({ length: count }, (_, index) => pushItem(from + index))
}

export function slow(item: PushItem, clock: ManualClock, ms: number, after = item.after): PushItem {
  return {
    ...item,
    get after() {
      clock.advance(ms)
      return after
    },
  }
}

export function send(kind: DeliveryKind, items: readonly PushItem[], signal = new AbortController().signal): Promise<readonly Outcome[]> {
  return kind.send(items, signal)
}

export interface ListedFile {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
  readonly first_seq: number
  readonly last_seq: number
  readonly account?: string
  readonly submission_id?: string | null
}

export interface Drop {
  readonly files: readonly string[]
  readonly manifests: readonly { readonly name: string; readonly rows: number; readonly files: readonly ListedFile[] }[]
  readonly others: readonly string[]
}

/** Reads a folder as a consumer does. @throws Error when a manifest and its files do not agree. */
export function readDrop(folder: string): Drop {
  const names = readdirSync(folder).sort()
  const files = names.filter((name) => /^[^.].*\.(?:csv|ndjson)$/.test(name))
  const manifests = names.filter((name) => name.endsWith('.manifest.json'))
  return {
    files,
    others: names.filter((name) => !files.includes(name) && !manifests.includes(name)),
    manifests: manifests.map((name) => {
      const manifest = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { rows: number; files: ListedFile[] }
      for (const file of manifest.files) agree(join(folder, file.name), file)
      return { name, rows: manifest.rows, files: manifest.files }
    }),
  }
}

function agree(path: string, file: ListedFile): void {
  const bytes = readFileSync(path)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  if (bytes.length !== file.bytes || sha256 !== file.sha256) throw new Error(`${path} is not what its manifest says`)
}

export function readRows(path: string): Record<string, unknown>[] {
  const text = readFileSync(path, 'utf8')
  if (!text.endsWith('\n')) throw new Error(`${path} ends in the middle of a line`)
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** The records of a CSV file by RFC 4180, header included; a cell that was empty and not quoted is null. */
export function readCsv(text: string): (string | null)[][] {
  const records: (string | null)[][] = []
  let record: (string | null)[] = []
  for (let at = 0; at < text.length; ) {
    const cell = /(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r\n)/y
    cell.lastIndex = at
    const match = cell.exec(text)
    if (match === null) throw new Error(`no CSV at ${at}: ${text.slice(at, at + 40)}`)
    record.push(match[1] === undefined ? match[2] || null : match[1].replaceAll('""', '"'))
    if (match[3] === '\r\n') {
      records.push(record)
      record = []
    }
    at = cell.lastIndex
  }
  return records
}
