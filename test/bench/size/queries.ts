import { readFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import pg from 'pg'
import { queriesOf } from '../../tools/document-queries.ts'
import { atMost, type BenchRow } from '../table.ts'
import { FIRST_AT } from './dialect.ts'
import { type Scale, SECONDS_EACH } from './rows.ts'

const QUERY_MS = 2_000
const DOCUMENTS = ['queries', 'queries-submissions', 'queries-operations', 'follow-changes'].map(
  (name) => new URL(`../../../migrations/${name}.md`, import.meta.url),
)
/** The time of the answers in the documents. */
const ANSWERED_AT = Date.parse('2026-01-20T12:00:30Z')

/** Runs each example query as a reader does. Start times are moved, so that they are as old as in the documents. */
export async function measureQueries(name: string, env: Readonly<Record<string, string>>, scale: Scale): Promise<BenchRow[]> {
  const kind = name === 'SQLite' ? 'sqlite' : 'postgres'
  const reader = kind === 'sqlite' ? onSqlite(env['DATABASE_URL'] ?? '') : await onPostgres(env)
  const rows: BenchRow[] = []
  try {
    for (const query of DOCUMENTS.flatMap((document) => queriesOf(readFileSync(document, 'utf8')))) {
      const statement = moved(query.statementFor(kind), scale)
      if (!/^(select|with)\b/.test(statement)) continue
      const startedAt = performance.now()
      await reader.all(statement)
      rows.push(atMost(`${name}: query "${query.question}"`, 'ms', performance.now() - startedAt, QUERY_MS))
    }
  } finally {
    await reader.close()
  }
  return rows.sort((a, b) => Number(a.met) - Number(b.met)).filter(({ met }) => !met)
}

function moved(statement: string, { events }: Scale): string {
  const endMs = (FIRST_AT + events * SECONDS_EACH) * 1000
  return statement.replace(/'(\d{4}-\d\d-\d\dT[\d:.]+Z)'/g, (_, time: string) => {
    const at = new Date(endMs - (ANSWERED_AT - Date.parse(time))).toISOString()
    return `'${at.replace(/\.(\d{3})Z$/, '.$1000Z')}'`
  })
}

interface Reader {
  all(statement: string): Promise<unknown>
  close(): Promise<void>
}

function onSqlite(url: string): Reader {
  const file = new Database(url.replace('sqlite:', ''), { readonly: true })
  return {
    all: async (statement) => file.prepare(statement).all(),
    close: async () => void file.close(),
  }
}

async function onPostgres(env: Readonly<Record<string, string>>): Promise<Reader> {
  const client = new pg.Client({ connectionString: env['DATABASE_URL'] })
  await client.connect()
  await client.query(`set search_path = "${env['DATABASE_SCHEMA']}"`)
  return { all: (statement) => client.query(statement), close: () => client.end() }
}
