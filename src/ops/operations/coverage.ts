import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import { entities } from '../../model/entities.ts'
import type { Entity } from '../../model/entity.ts'
import type { Query } from '../../store/engine/db.ts'
import { COUNT_CAP } from '../../store/engine/sql.ts'
import type { ReadCoverage } from '../../store/upkeep/coverage.ts'
import { readsOffStatus } from '../../store/upkeep/status.ts'
import { tableOf } from '../output/columns.ts'
import { record, time } from '../output/schema.ts'
import { table } from '../output/table.ts'
import { wrapped } from '../output/text.ts'
import { knownAccounts } from '../status/accounts.ts'
import { COMPLETENESS_SCOPE } from '../status/completeness.ts'
import { readOff } from '../status/status.ts'
import { summedUp } from '../status/sums.ts'

/** What is mirrored and how fresh, and what the service gives no way to find. */
export const coverage = record('Coverage', {
  accounts: z.array(
    z.object({
      account: z.string(),
      reads: z.array(
        z.object({
          read: z.string().describe('a kind of read; `extra:` and the name of an extra read'),
          tables: z.array(z.string()).describe('that it fills, in part or whole'),
          of: z.enum(['submissions', 'ids']).describe('what it is made for'),
          total: z.int(),
          done: z.int(),
          never: z.int(),
          oldest_at: time.nullable(),
          median_at: time.nullable(),
          off: readOff.nullable().describe('why it is not made; null when it is'),
        }),
      ),
      tables: z
        .array(z.object({ table: z.string(), read: z.string(), rows: z.int(), more: z.boolean() }))
        .describe('rows, counted up to 100,000 (`more`: there are at least so many)'),
      documents: z.object({ known: z.int(), stored: z.int() }),
    }),
  ),
  counted_at: time.nullable().describe('when it was counted: of a large mirror once a minute; null: now'),
  gaps: z.array(z.object({ about: z.string(), what: z.string() })).describe('what the service gives no way to find or to know sooner'),
})

export type Coverage = z.output<typeof coverage>
type AccountCoverage = Coverage['accounts'][number]

/** What the specification gives no way to find, or to know sooner. */
export const GAPS: Coverage['gaps'] = [
  { about: 'submissions', what: COMPLETENESS_SCOPE },
  {
    about: 'bind requests',
    what: 'Nothing lists them. One is known only when an answer, a delivery or `track --bind-request` names its id; one that nothing names is missing here.',
  },
  {
    about: 'policies, insureds',
    what: 'Lists of them are named by the specification without a path or a shape. One is known only when an answer, a probed path or `track` names its id. Their fields are not shown, so they stand in `raw`.',
  },
  {
    about: 'documents',
    what: 'Nothing lists them. One is known when a message, a lane, a policy or an answer names its path, link or id.',
  },
  {
    about: 'submission detail, markets, lists',
    what: 'The specification names these reads without showing paths or answers. `accounts[].extra_reads` keeps them where the service tells the path.',
  },
  {
    about: 'requirements, applications, binds, policies',
    what: 'No event tells of their changes, but for `bound`. They are as fresh as their timed reads.',
  },
  {
    about: 'correspondence',
    what: 'The thread holds what the service and the brokerage wrote to each other. Letters of carriers and insureds never appear in it.',
  },
  {
    about: 'appetite, forms, market access',
    what: 'Appetite reads are metered, the form search is capped at 50, market access has no shown answer: none is mirrored.',
  },
]

/** @param isTerminal whether it is counted now, however much there is. */
export async function readCoverage(q: Query, config: Pick<Config, 'accounts'>, isTerminal: boolean): Promise<Coverage> {
  const offOf = await readsOffStatus(q)
  const names = (await knownAccounts(q, config.accounts)).map(({ account }) => account)
  const { of: sumsOf, countedAt } = await summedUp(q, names, isTerminal)
  const accounts = names.map((account): AccountCoverage => {
    const { coverage: reads, tables, documents } = sumsOf(account)
    const off = offOf(account)
    const shown = (of: 'submissions' | 'ids') => (one: ReadCoverage) => shownRead(one, of, off)
    return {
      account,
      reads: [...reads.submissions.map(shown('submissions')), ...reads.ids.map(shown('ids')), ...reads.extra.map(shown('submissions'))],
      tables: tables.map((one) => ({ ...one, more: one.rows >= COUNT_CAP })),
      documents,
    }
  })
  return { accounts, counted_at: countedAt, gaps: GAPS }
}

/** @returns the tables that a read fills, with those of which it brings some columns. */
function tablesOf(read: string): string[] {
  const brings = (entity: Entity) => entity.read === read || Object.values(entity.fields).some((field) => field.read === read)
  return entities.filter(brings).map(({ table: of }) => of)
}

function shownRead(
  one: ReadCoverage,
  of: 'submissions' | 'ids',
  off: ReturnType<Awaited<ReturnType<typeof readsOffStatus>>>,
): AccountCoverage['reads'][number] {
  const filled = one.read.startsWith('extra:') ? ['extra_reads'] : tablesOf(one.read)
  return { ...one, tables: filled, of, off: off.find(({ read }) => read === one.read) ?? null }
}

/** What `status --coverage` prints. */
export function coverageText({ accounts, gaps }: Coverage, nowMs: number, width: number): string {
  const ofEach = <T extends object>(rowsOf: (of: AccountCoverage) => readonly T[]) =>
    accounts.flatMap((each) => rowsOf(each).map((row) => ({ account: each.account, ...row })))
  const tables = [
    tableOf(
      'What is read, and when it was last read',
      ofEach(({ reads }) => reads),
      [
        ...(['account', 'read'] as const),
        ['for', (r) => r.of],
        ['read of', (r) => `${r.done} of ${r.total}`],
        ...(['never', 'oldest_at', 'median_at'] as const),
        ['off', (r) => r.off?.cause],
        ['fills', (r) => r.tables.join(', '), 'below'],
      ],
      nowMs,
    ),
    tableOf(
      'What is mirrored',
      ofEach(({ tables: all }) => all),
      ['account', 'table', ['rows', (t) => (t.more ? `${t.rows} or more` : t.rows)], ['from the read', (t) => t.read]],
      nowMs,
    ),
    tableOf(
      'Documents',
      ofEach(({ documents }) => [documents]),
      ['account', 'known', 'stored'],
      nowMs,
    ),
  ]
  const missing = gaps.map(({ about, what }) => wrapped(`• ${about}: ${what}`, width, '', '  ')).join('')
  return [...tables.map((each) => table({ ...each, width })), `What the service gives no way to find, or to know sooner\n${missing}`]
    .filter((part) => part !== '')
    .join('\n')
}
