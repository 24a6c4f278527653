import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { relations } from '../../src/store/schema/tables.ts'
import type { User } from './nobody.ts'

/** A program that opens SQLite files, other than the product's library. */
export interface Reader {
  readonly name: string
  read(path: string, statement: string): Row[]
  readAll(path: string, statements: readonly string[]): Row[][]
}

/** A reader in its own process, perhaps of another user. */
export interface ReaderProgram extends Reader {
  read(path: string, statement: string, user?: User): Row[]
}

export type Row = Readonly<Record<string, string | number | null>>

interface SqlJs {
  readonly Database: new (bytes: Uint8Array) => { exec(statement: string): { columns: string[]; values: Row[string][][] }[]; close(): void }
}

/** SQLite 3.33.0, the oldest supported, in WebAssembly. It needs a checkpointed file. */
export async function sqlite333(): Promise<Reader> {
  const require = createRequire(import.meta.url)
  const wasm = require.resolve('sql.js-fts5/dist/sql-wasm.wasm')
  const load = require('sql.js-fts5') as (options: { wasmBinary: Uint8Array }) => Promise<SqlJs>
  const { Database } = await load({ wasmBinary: readFileSync(wasm) })
  const readAll = (path: string, statements: readonly string[]) => {
    const database = new Database(withoutLog(readFileSync(path)))
    try {
      return statements.map((statement) => {
        const [result] = database.exec(statement)
        return (result?.values ?? []).map((values) => Object.fromEntries(values.map((value, n) => [result?.columns[n] ?? '', value])))
      })
    } finally {
      database.close()
    }
  }
  return { name: 'SQLite 3.33.0', read: (path, statement) => readAll(path, [statement])[0] ?? [], readAll }
}

/** The machine's `sqlite3` and `python3`, if `user` can run them. */
export function installedReaders(user: User = {}): ReaderProgram[] {
  const sqlite3 = (path: string, statement: string, as?: User) =>
    JSON.parse(run('sqlite3', ['-readonly', '-bail', '-json', path, statement], as) || '[]') as Row[]
  const python3 = (path: string, statements: readonly string[], as?: User) =>
    JSON.parse(run('python3', ['-c', PYTHON, path, ...statements], as)) as Row[][]
  const readers: ReaderProgram[] = [
    { name: 'sqlite3', read: sqlite3, readAll: (path, statements) => statements.map((statement) => sqlite3(path, statement)) },
    { name: 'python3', read: (path, statement, as) => python3(path, [statement], as)[0] ?? [], readAll: python3 },
  ]
  return readers.filter(({ name }) => isInstalled(name, user))
}

export function readEverything({ readAll }: Reader, path: string): number {
  const statements = relations.map(({ name, columns }) => {
    const listed = Object.keys(columns).map((column) => `max("${column}")`)
    return `select count(*), ${listed.join()} from ${name}`
  })
  return readAll(path, statements).filter((rows) => rows.length === 1).length
}

export function isReading(statement: string): boolean {
  return !/^insert\b/m.test(statement)
}

/** Output of a program for a document's code, which names `data/mirror.db`. */
export function printedBy(name: string, code: string, path: string): string {
  return run(name === 'sqlite3' ? 'sh' : name, ['-c', code.replaceAll('data/mirror.db', path)])
    .replaceAll(/ +$/gm, '')
    .trimEnd()
}

/** Node's own SQLite. @param folder for a copy of Node that `user` can run. */
export function nodeReader(folder: string, user: User): ReaderProgram {
  let node = process.execPath
  if (spawnSync(node, ['--version'], { ...user, cwd: folder }).status !== 0) {
    node = join(folder, 'node')
    copyFileSync(process.execPath, node)
    chmodSync(node, 0o755)
  }
  const read = (path: string, statement: string, as?: User) => JSON.parse(run(node, ['-e', NODE, path, statement], as)) as Row[]
  return { name: 'node:sqlite', read, readAll: (path, statements) => statements.map((statement) => read(path, statement)) }
}

const NODE = `
const { DatabaseSync } = require('node:sqlite')
const [, path, statement] = process.argv
console.log(JSON.stringify(new DatabaseSync(path, { readOnly: true }).prepare(statement).all()))`

const PYTHON = `
import json, sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
connection.row_factory = sqlite3.Row
print(json.dumps([[dict(row) for row in connection.execute(statement)] for statement in sys.argv[2:]]))`

function withoutLog(bytes: Uint8Array): Uint8Array {
  bytes.set([1, 1], 18)
  return bytes
}

function run(program: string, args: readonly string[], user: User = {}): string {
  return execFileSync(program, args, { ...user, cwd: '/', encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function isInstalled(program: string, user: User): boolean {
  try {
    run(program, program === 'python3' ? ['-c', 'import sqlite3'] : ['--version'], user)
    return true
  } catch {
    return false
  }
}
