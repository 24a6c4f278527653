import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { entities } from '../../model/entities.ts'
import type { Entity } from '../../model/entity.ts'
import type { Query } from '../../store/engine/db.ts'
import { COUNT_CAP } from '../../store/engine/sql.ts'
import type { AccountTotals } from '../../store/upkeep/cached-totals.ts'
import type { ReadCoverage } from '../../store/upkeep/coverage.ts'
import { readsOffStatus } from '../../store/upkeep/status.ts'
import { tableOf } from '../output/columns.ts'
import { record, time } from '../output/schema.ts'
import { type Table, table } from '../output/table.ts'
import { wrapped } from '../output/text.ts'
import { knownAccounts } from './accounts.ts'
import { COMPLETENESS_SCOPE } from './completeness.ts'
import { summedUp } from './sums.ts'

/** Progress and freshness of one kind of read of one account. */
const oneRead = z.object({
  read: z.string().describe('a kind of read; `extra:` and the name of an extra read'),
  tables: z.array(z.string()).describe('tables that it fills, in part or whole'),
  of: z.enum(['submissions', 'ids']).describe('objects of the read'),
  total: z.int(),
  done: z.int(),
  never: z.int(),
  oldest_at: time.nullable(),
  median_at: time.nullable(),
  off: z
    .object({ cause: z.enum(['settings', 'service']), reason: z.string(), since: time, retry_at: time.nullable() })
    .nullable()
    .describe('why it is off: `STATE_READS` omits it, or the service rejected it (next attempt at `retry_at`); null: it is on'),
})

export const readsCoverage = z.array(oneRead)

/** Mirrored tables and their freshness. `gaps`: data that the program can't find, or finds only late. */
export const coverage = record('Coverage', {
  accounts: z.array(
    z.object({
      account: z.string(),
      reads: readsCoverage,
      tables: z
        .array(z.object({ table: z.string(), read: z.string(), rows: z.int(), more: z.boolean() }))
        .describe('rows, counted up to 100,000 (`more`: there are at least this many)'),
      documents: z.object({ known: z.int(), stored: z.int() }),
    }),
  ),
  counted_at: time.nullable().describe('time of the counts (for a large mirror once a minute); null: now'),
  gaps: z.array(z.object({ about: z.string(), what: z.string() })).describe('what the service offers no way to find, or to detect sooner'),
})

export type Coverage = z.output<typeof coverage>
type AccountCoverage = Coverage['accounts'][number]

/** Data that the program can't find, or finds only late, because the specification documents no better way. */
const GAPS: Coverage['gaps'] = [
  { about: 'submissions', what: COMPLETENESS_SCOPE },
  {
    about: 'bind requests',
    what: 'The service does not list them. They are found only by ids in answers, deliveries or `track --bind-request`; others are missing here.',
  },
  {
    about: 'policies, insureds',
    what: 'The specification mentions lists without path or format. They are found only by ids in answers, probed paths or `track`. Their fields are undocumented, so they are in `raw`.',
  },
  {
    about: 'documents',
    what: 'The service does not list them. They are found by paths, links or ids in messages, lanes, policies or answers.',
  },
  {
    about: 'submission detail, markets, lists',
    what: 'The specification mentions these reads without paths or answers. If the service gives you a path, `accounts[].extra_reads` stores its answers.',
  },
  {
    about: 'requirements, applications, binds, policies',
    what: 'Except for `bound`, no event announces their changes. They are as fresh as their scheduled reads.',
  },
  {
    about: 'correspondence',
    what: 'The thread contains messages between the service and the brokerage. Letters from carriers and insureds are not in it.',
  },
  {
    about: 'appetite, forms, market access',
    what: 'They are not mirrored: appetite reads are metered, the form search is capped at 50, and the answer of market access is undocumented.',
  },
]

/**
 * @returns the coverage of all accounts in the settings and the database.
 * @param isTerminal true to count now, even if counting is slow.
 */
export async function readCoverage(q: Query, config: Pick<Config, 'accounts'>, isTerminal: boolean): Promise<Coverage> {
  const offOf = await readsOffStatus(q)
  const names = (await knownAccounts(q, config.accounts)).map(({ account }) => account)
  const { of: sumsOf, countedAt } = await summedUp(q, names, isTerminal)
  const accounts = names.map((account): AccountCoverage => {
    const { coverage: reads, tables, documents } = sumsOf(account)
    const shown = tables.map((one) => ({ ...one, more: one.rows >= COUNT_CAP }))
    return { account, reads: coverageOf(reads, offOf(account)), tables: shown, documents }
  })
  return { accounts, counted_at: countedAt, gaps: GAPS }
}

type ReadsOff = ReturnType<Awaited<ReturnType<typeof readsOffStatus>>>

/** @returns the progress of each read of an account. @param off reads that are turned off, with the reason. */
export function coverageOf(reads: AccountTotals['coverage'], off: ReadsOff): z.output<typeof readsCoverage> {
  const shown = (of: 'submissions' | 'ids') => (one: ReadCoverage) => ({
    ...one,
    tables: one.read.startsWith('extra:') ? ['extra_reads'] : tablesOf(one.read),
    of,
    off: off.find(({ read }) => read === one.read) ?? null,
  })
  return [...reads.submissions.map(shown('submissions')), ...reads.ids.map(shown('ids')), ...reads.extra.map(shown('submissions'))]
}

/** @returns the tables that a read fills, completely or in part. */
function tablesOf(read: string): string[] {
  const brings = (entity: Entity) => entity.read === read || Object.values(entity.fields).some((field) => field.read === read)
  return entities.filter(brings).map(({ table: of }) => of)
}

/** @returns the rows of all accounts. Each row has the name of its account. */
export function ofEach<A extends { readonly account: string }, T extends object>(accounts: readonly A[], rowsOf: (of: A) => readonly T[]) {
  return accounts.flatMap((each) => rowsOf(each).map((row) => ({ account: each.account, ...row })))
}

/** For each read by id: the objects that it reads, as shown in the column `scope`. */
const objectsOf: Readonly<Record<string, string>> = { bind_request: 'bind requests', policy: 'policies', insured: 'insureds' }

export function readsTable(accounts: readonly Pick<AccountCoverage, 'account' | 'reads'>[], nowMs: number): Table {
  return tableOf(
    'Reads and their freshness',
    ofEach(accounts, ({ reads }) => reads),
    [
      ...(['account', 'read'] as const),
      ['scope', (r) => (r.of === 'ids' ? (objectsOf[r.read] ?? 'ids') : r.of)],
      ['done', (r) => `${r.done} of ${r.total}`],
      ...(['never', 'oldest_at', 'median_at'] as const),
      ['off', (r) => r.off?.cause],
      ['tables', (r) => r.tables.join(', '), 'below'],
    ],
    nowMs,
  )
}

export function coverageText({ accounts, gaps }: Coverage, nowMs: number, width: number): string {
  const tables = [
    readsTable(accounts, nowMs),
    tableOf(
      'Mirrored tables',
      ofEach(accounts, ({ tables: all }) => all),
      ['account', 'table', ['rows', (t) => (t.more ? `${t.rows} or more` : t.rows)], ['from the read', (t) => t.read]],
      nowMs,
    ),
    tableOf(
      'Documents',
      ofEach(accounts, ({ documents }) => [documents]),
      ['account', 'known', 'stored'],
      nowMs,
    ),
  ]
  const missing = gaps.map(({ about, what }) => wrapped(`• ${about}: ${what}`, width, '', '  ')).join('')
  return [...tables.map((each) => table({ ...each, width })), `What the mirror may miss or learn late\n${missing}`]
    .filter((part) => part !== '')
    .join('\n')
}
