import { columnVisibilityFeature, createColumnHelper, type RowData, tableFeatures, useTable } from '@tanstack/react-table'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { type MouseEvent, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react'

const ROW_PX = 36
/** Shorter lists are drawn whole. */
const VIRTUAL_FROM = 80
const BEYOND = 16

const features = tableFeatures({ columnVisibilityFeature })

export interface Column<Row> {
  readonly id: string
  /** Empty where a box or buttons say by themselves what they are: it is read out all the same. */
  readonly head: string
  /** Called, and not a component of its own: with new columns what is open in a cell would be gone. */
  readonly cell: (row: Row) => ReactNode
  /** Numbers and money stand at the right. */
  readonly isNumber?: boolean
  /** Where there is less room it is left out: 2 on a tablet, 3 on a small laptop, 4 on a laptop. */
  readonly rank?: 2 | 3 | 4
  /** Whether a phone shows it all the same, under the rest of its row. */
  readonly isOnPhone?: boolean
  /** What it holds in place of a word: a box to tick, the row's buttons, or a sentence that takes several lines. */
  readonly holds?: 'box' | 'buttons' | 'sentence'
  /** Takes the room that is left. */
  readonly isWide?: boolean
  /** What `sort` in the address is when the list goes by this column, and the other way round. */
  readonly sorts?: readonly [first: string, second: string]
}

export interface TableProps<Row> {
  /** Read out as the name of the table. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly hidden?: readonly string[]
  readonly sort?: string | undefined
  readonly onSort?: (sort: string) => void
  readonly isChosen?: (row: Row) => boolean
}

/** A dense list. Of a long one only the rows in sight are drawn. */
export function Table<Row extends RowData>({ label, columns, rows, keyOf, hidden = [], sort, onSort, isChosen }: TableProps<Row>) {
  const byId = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns])
  const defs = useMemo(() => {
    const helper = createColumnHelper<typeof features, Row>()
    return columns.map(({ id, head }) => helper.display({ id, header: head }))
  }, [columns])
  const columnVisibility = useMemo(() => Object.fromEntries(hidden.map((id) => [id, false])), [hidden])
  const data = useMemo(() => [...rows], [rows])
  const table = useTable({ features, columns: defs, data, getRowId: keyOf, state: { columnVisibility } })
  const body = useRef<HTMLTableSectionElement>(null)
  const view = useRowsInSight(table.getRowModel().rows.length, body)
  const shown = table.getRowModel().rows.slice(view.first, view.end)
  const classOf = (id: string) => {
    const { isNumber, rank, isWide, isOnPhone, holds } = byId.get(id) ?? {}
    return (
      [isNumber && 'number', rank && `rank-${rank}`, isWide && 'wide', isOnPhone && 'on-phone', holds].filter(Boolean).join(' ') ||
      undefined
    )
  }
  return (
    <div className="table-room">
      <table className="list" aria-label={label} aria-rowcount={rows.length + 1}>
        <thead>
          {table.getHeaderGroups().map((group) => (
            <tr key={group.id}>
              {group.headers.map((header) => (
                <Head
                  key={header.id}
                  column={byId.get(header.column.id)}
                  className={classOf(header.column.id)}
                  sort={sort}
                  onSort={onSort}
                />
              ))}
            </tr>
          ))}
        </thead>
        <tbody ref={body}>
          {view.before > 0 && <Gap height={view.before} />}
          {shown.map((row, index) => (
            <tr
              key={row.id}
              ref={view.measure}
              data-index={view.first + index}
              aria-rowindex={view.first + index + 2}
              className={isChosen?.(row.original) ? 'chosen' : undefined}
              onClick={openRow}
            >
              {row.getVisibleCells().map((cell) => (
                <td key={cell.id} className={classOf(cell.column.id)} data-head={byId.get(cell.column.id)?.head}>
                  {byId.get(cell.column.id)?.cell(row.original)}
                </td>
              ))}
            </tr>
          ))}
          {view.after > 0 && <Gap height={view.after} />}
        </tbody>
      </table>
    </div>
  )
}

/** The whole row opens what its link opens. What can be clicked by itself does its own, and a text that was marked stays. */
function openRow({ target, currentTarget, metaKey, ctrlKey }: MouseEvent<HTMLTableRowElement>): void {
  const isOwn =
    !(target instanceof Element) || !currentTarget.contains(target) || target.closest('a, button, input, label, summary, dialog')
  if (isOwn || metaKey || ctrlKey || getSelection()?.isCollapsed === false) return
  currentTarget.querySelector<HTMLElement>('a[data-row]')?.click()
}

/** Stands for rows that are out of sight. */
function Gap({ height }: { readonly height: number }) {
  return (
    <tr className="gap">
      <td style={{ height }} />
    </tr>
  )
}

interface HeadProps {
  readonly column: Pick<Column<never>, 'head' | 'holds' | 'sorts'> | undefined
  readonly className: string | undefined
  readonly sort: string | undefined
  readonly onSort: ((sort: string) => void) | undefined
}

function Head({ column, className, sort, onSort }: HeadProps) {
  const { head = '', holds, sorts } = column ?? {}
  if (!sorts || !onSort) {
    return (
      <th scope="col" className={className}>
        {head || <span className="unseen">{holds === 'box' ? 'Selected' : 'Actions'}</span>}
      </th>
    )
  }
  const [first, second] = sorts
  const isBy = sort === first || sort === second
  const isDown = sort?.startsWith('-') ?? false
  const Arrow = isDown ? ArrowDown : ArrowUp
  return (
    <th scope="col" className={className} aria-sort={isBy ? (isDown ? 'descending' : 'ascending') : 'none'}>
      <button type="button" className="sort" onClick={() => onSort(sort === first ? second : first)}>
        {head}
        {isBy && <Arrow aria-hidden="true" />}
      </button>
    </th>
  )
}

interface InSight {
  readonly first: number
  readonly end: number
  /** Pixels that the rows before and behind take. */
  readonly before: number
  readonly after: number
  /** Takes the height of a row, which on a phone is not that of all others. */
  readonly measure?: (row: HTMLElement | null) => void
}

function useRowsInSight(count: number, body: React.RefObject<HTMLElement | null>): InSight {
  const isLong = count >= VIRTUAL_FROM
  const [scrollMargin, setMargin] = useState(0)
  useLayoutEffect(() => {
    if (isLong && body.current) setMargin(body.current.getBoundingClientRect().top + window.scrollY)
  }, [isLong, body])
  const virtual = useWindowVirtualizer({ count, estimateSize: () => ROW_PX, overscan: BEYOND, scrollMargin, enabled: isLong })
  const items = virtual.getVirtualItems()
  const [first] = items
  const last = items.at(-1)
  if (!isLong || !first || !last) return { first: 0, end: isLong ? VIRTUAL_FROM : count, before: 0, after: 0 }
  const after = virtual.getTotalSize() - (last.end - scrollMargin)
  const before = first.start - scrollMargin
  return { first: first.index, end: last.index + 1, before, after: Math.max(0, after), measure: virtual.measureElement }
}
