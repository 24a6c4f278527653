import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/*
 * Keeps a copy of the mirror by HTTP alone: loads every table once, then follows the change log. The copy and the place in the log stand in one
 * file, which is replaced as a whole; a program with a database stores both in one transaction.
 *
 *   MIRROR_URL=http://127.0.0.1:8081 MIRROR_TOKEN=… COPY=copy.json TABLES=submissions,quotes node follow.ts
 *
 * The token is one of OPS_TOKENS with the role operator: it is sent personal values.
 */

type Row = Record<string, unknown>
type Change = { seq: number; account: string; entity: string; entity_id: string; operation: string; after: Row | null }
type Changes = { items: Change[]; next_cursor: string | null; log_epoch: string; last_seq: number }
type Rows = { items: (Omit<Change, 'seq'> & { row: Row })[]; next_cursor: string | null; log_epoch: string; seq: number }

/** The copy holds every change up to `seq` of the numbering `epoch`; see `loadedTo`. Rows stand under account and key. */
type Copy = { epoch: string; seq: number; loadedTo: number; tables: Record<string, Record<string, Row>> }

/** The log has another numbering, or no longer has what comes next. */
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
    // Otherwise the mirror is restarted, or the network is away: on from what is stored, which is never half a page.
    if (!isOver) await sleep(500)
    copy = isOver ? null : await stored()
  }
}

/** Loads every table. Each page holds all changes up to its `seq`, so the smallest one, the first, is where to follow from. */
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
  if (copy === null) throw new Error('TABLES names no table')
  await store(copy)
  console.log(`loaded ${copy.epoch} ${copy.seq}`)
  return copy
}

/** Takes the changes that there are, or waits for some. */
async function follow(copy: Copy): Promise<Copy> {
  const { items, log_epoch, next_cursor, last_seq } = await get<Changes>('changes', {
    after: String(copy.seq),
    epoch: copy.epoch,
    limit: '200',
    wait: '30',
  })
  for (const change of items) apply(copy, change)
  // At the end of the log everything up to its last number has been seen.
  const seq = next_cursor === null ? last_seq : Number(next_cursor)
  if (log_epoch !== copy.epoch || seq < copy.seq) throw new StartOver('the log is another')
  if (seq === copy.seq) return copy
  const followed = { ...copy, seq }
  await store(followed)
  // Until here some rows may be newer than others: they were read later.
  console.log(seq < copy.loadedTo ? `catching up ${seq}` : `followed ${copy.epoch} ${seq}`)
  return followed
}

function apply(copy: Copy, { seq, account, entity, entity_id, operation, after }: Change): void {
  if (seq <= copy.seq) throw new Error(`change ${seq} came again behind ${copy.seq}`)
  const rows = copy.tables[entity]
  const key = `${account} ${entity_id}`
  // A table that is not copied.
  if (rows === undefined) return
  if (operation === 'purged') delete rows[key]
  else if (operation === 'insert') rows[key] = { ...after }
  // A row that is not here was purged while the tables were loaded: a later change says so.
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

/** Whatever happens meanwhile, the file is the old one or the new one. */
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
