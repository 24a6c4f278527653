import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { More, type Pages } from './more.tsx'
import { Empty, QueryState } from './states.tsx'
import { Table, type TableProps } from './table.tsx'

type Answer<Row> = { readonly items: readonly Row[] } | { readonly pages: readonly { readonly items: readonly Row[] }[] }

interface QueryTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly query: UseQueryResult<Answer<Row>>
  /** @returns whether to show the row. */
  readonly keep?: (row: Row) => boolean
  readonly empty: ReactNode
  /** Label of a button that loads the next page. If undefined, the next page loads when the user scrolls to the end. */
  readonly more?: string
}

export function QueryTable<Row>({ query, keep, empty, more, ...table }: QueryTableProps<Row>) {
  return (
    <QueryState query={query} rows={4}>
      {(answer) => {
        const all = 'pages' in answer ? answer.pages.flatMap(({ items }) => items) : answer.items
        const rows = keep ? all.filter(keep) : all
        if (rows.length === 0) return <Empty>{empty}</Empty>
        return (
          <>
            <Table {...table} rows={rows} />
            {'fetchNextPage' in query && <More pages={query as unknown as Pages} button={more} />}
          </>
        )
      }}
    </QueryState>
  )
}
