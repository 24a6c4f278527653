import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/*
 * Keeps a copy of the mirror by HTTP: loads every table once, then follows the change log. The copy and its position in the log are in one
 * file, which is replaced as a whole. A program with a database stores both in one transaction.
 *
 *   MIRROR_URL=http://127.0.0.1:8081 MIRROR_TOKEN=… COPY=copy.json TABLES=submissions,quotes node follow.ts
 *
 * The token must be from OPS_TOKENS with the operator role, which may read personal values.
 */

type Row = Record<string, unknown>
type Change = { seq: number; account: string; entity: string; entity_id: string; operation: string; after: Row | null }
type Changes = { items: Change[]; next_cursor: string | null; log_epoch: string; last_seq: number }
type Rows = { items: (Omit<Change, 'seq'> & { row: Row })[]; next_cursor: string | null; log_epoch: string; seq: number }

/** Contains every change up to `seq` of the numbering `epoch`, and some up to `loadedTo`. Rows are stored by account and key. */
type Copy = { epoch: string; seq: number; loadedTo: number; tables: Record<string, Record<string, Row>> }

/** The log has a new numbering, or no longer contains the next change. */
class StartOver extends Error {}

const url = setting('MIRROR_URL')
const token = setting('MIRROR_TOKEN')
const file = setting('COPY')
const tables = setting('TABLES').split(',')

for (let copy = await stored(); ; ) {
  try {
    copy ??= await load()
    copy = await follow(copy)
  } catch (error) {
    console.log(String(error))
    const isOver = error instanceof StartOver
    // After a restart of the mirror or a network failure, continue from the stored copy, which never contains half a page.
    if (!isOver) await sleep(500)
    copy = isOver ? null : await stored()
  }
}

/** Loads every table. Each page contains all changes up to its `seq`, so following starts at the `seq` of the first page. */
async function load(): Promise<Copy> {
  let copy: Copy | null = null
  for (const table of tables) {
    for (let after: string | null = ''; after !== null; ) {
      const page: Rows = await get(`rows/${table}`, { after, epoch: copy?.epoch ?? '', limit: '200' })
      copy ??= { epoch: page.log_epoch, seq: page.seq, loadedTo: page.seq, tables: {} }
      copy.loadedTo = page.seq
      copy.tables[table] ??= {}
      const rows = copy.tables[table]
      for (const { account, entity_id, row } of page.items) rows[`${account} ${entity_id}`] = row
      after = page.next_cursor
    }
  }
  if (copy === null) throw new Error('TABLES is empty')
  await store(copy)
  console.log(`loaded ${copy.epoch} ${copy.seq}`)
  return copy
}

/** Applies the next changes, or waits for them. */
async function follow(copy: Copy): Promise<Copy> {
  const { items, log_epoch, next_cursor, last_seq } = await get<Changes>('changes', {
    after: String(copy.seq),
    epoch: copy.epoch,
    limit: '200',
    wait: '30',
  })
  for (const change of items) apply(copy, change)
  // At the end of the log, `last_seq` may be higher than the last item.
  const seq = next_cursor === null ? last_seq : Number(next_cursor)
  if (log_epoch !== copy.epoch || seq < copy.seq) throw new StartOver('the log has a new numbering')
  if (seq === copy.seq) return copy
  const followed = { ...copy, seq }
  await store(followed)
  // Up to `loadedTo`, some rows may be newer than others, because they were loaded later.
  console.log(seq < copy.loadedTo ? `catching up ${seq}` : `followed ${copy.epoch} ${seq}`)
  return followed
}

function apply(copy: Copy, { seq, account, entity, entity_id, operation, after }: Change): void {
  if (seq <= copy.seq) throw new Error(`change ${seq} repeated after ${copy.seq}`)
  const rows = copy.tables[entity]
  const key = `${account} ${entity_id}`
  // Not a copied table.
  if (rows === undefined) return
  if (operation === 'purged') delete rows[key]
  else if (operation === 'insert') rows[key] = { ...after }
  // A missing row was purged during the load. A later change confirms it.
  else if (rows[key] !== undefined) Object.assign(rows[key], after)
}

async function get<T>(path: string, query: Record<string, string>): Promise<T> {
  const given = Object.entries({ ...query, whole: 'true' }).filter(([, value]) => value !== '')
  const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(given)}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: AbortSignal.timeout(60_000),
  })
  if (response.ok) return (await response.json()) as T
  const text = `${response.status}: ${await response.text()}`
  if (response.status === 409 || response.status === 410) throw new StartOver(text)
  throw new Error(text)
}

async function stored(): Promise<Copy | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Copy
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Replaces the file atomically. */
async function store(copy: Copy): Promise<void> {
  const next = `${file}.next`
  const written = await open(next, 'w', 0o600)
  await written.writeFile(JSON.stringify(copy))
  await written.sync()
  await written.close()
  await rename(next, file)
  const folder = await open(dirname(file))
  await folder.sync()
  await folder.close()
}

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set`)
  return value
}
