import type { UseQueryResult } from '@tanstack/react-query'
import type { RowData } from '@tanstack/react-table'
import type { ReactNode } from 'react'
import { More, type Pages } from './more.tsx'
import { Asked, Empty } from './states.tsx'
import { Table, type TableProps } from './table.tsx'

/** A list as it is read: at once, or page by page. */
type Answer<Row> = { readonly items: readonly Row[] } | { readonly pages: readonly { readonly items: readonly Row[] }[] }

interface ListedProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly query: UseQueryResult<Answer<Row>>
  /** How many rows are hinted at until they are there. */
  readonly loading?: number
  /** Which rows are shown; all of them when left out. */
  readonly keep?: (row: Row) => boolean
  /** Why there is nothing. */
  readonly empty: ReactNode
  /** The button for the next page, where that does not come by itself. */
  readonly more?: string
}

/** The table of a list, or the state that the list is in. */
export function Listed<Row extends RowData>({ query, loading = 6, keep, empty, more, ...table }: ListedProps<Row>) {
  return (
    <Asked query={query} rows={loading}>
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
    </Asked>
  )
}
