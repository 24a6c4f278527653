import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { type MouseEvent, type ReactNode, useLayoutEffect, useRef, useState } from 'react'

const ROW_PX = 36
const VIRTUAL_FROM = 80
const BEYOND = 16

export interface Column<Row> {
  readonly id: string
  /** Column title. Empty for checkboxes and buttons, which have their own names for screen readers. */
  readonly head: string
  /**
   * Returns the content of a cell. Must not be a React component. A component would be created again when `columns`
   * changes, and menus in the cell would close.
   */
  readonly cell: (row: Row) => ReactNode
  readonly isNumber?: boolean
  /**
   * Which screens hide the column. 2: tablets and smaller. 3: small laptops and smaller. 4: laptops and smaller.
   * Undefined: none.
   */
  readonly rank?: 2 | 3 | 4
  /** Whether phones show the column even if its `rank` hides it. Phones show it below the other cells of the row. */
  readonly isOnPhone?: boolean
  /** Content of a cell: a checkbox, the buttons of the row, or a sentence of several lines. Default: a short text. */
  readonly holds?: 'box' | 'buttons' | 'sentence'
  readonly isWide?: boolean
  /** Values of the query parameter `sort` for this column: first the default direction, then the other direction. */
  readonly sorts?: readonly [first: string, second: string]
}

export interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly hidden?: readonly string[]
  readonly sort?: string | undefined
  readonly onSort?: (sort: string) => void
  readonly isChosen?: (row: Row) => boolean
}

/** A table. If the list is long, only the visible rows are rendered. */
export function Table<Row>({ label, columns, rows, keyOf, hidden = [], sort, onSort, isChosen }: TableProps<Row>) {
  const shown = columns.filter(({ id }) => !hidden.includes(id))
  const body = useRef<HTMLTableSectionElement>(null)
  const view = useRowsInSight(rows.length, body)
  return (
    <div className="table-room">
      <table className="list" aria-label={label} aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {shown.map((column) => (
              <Head key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {view.before > 0 && <Gap height={view.before} />}
          {rows.slice(view.first, view.end).map((row, index) => (
            <tr
              key={keyOf(row)}
              ref={view.measure}
              data-index={view.first + index}
              aria-rowindex={view.first + index + 2}
              className={isChosen?.(row) ? 'chosen' : undefined}
              onClick={openRow}
            >
              {shown.map((column) => (
                <td key={column.id} className={classOf(column)} data-head={column.head}>
                  {column.cell(row)}
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

type Looks = Pick<Column<never>, 'isNumber' | 'rank' | 'isWide' | 'isOnPhone' | 'holds'>

function classOf({ isNumber, rank, isWide, isOnPhone, holds }: Looks): string | undefined {
  const names = [isNumber && 'number', rank && `rank-${rank}`, isWide && 'wide', isOnPhone && 'on-phone', holds]
  return names.filter(Boolean).join(' ') || undefined
}

/**
 * Opens the link of a row when the row is clicked. Ignores a click on another control in the row, and a click while
 * text is selected.
 */
function openRow({ target, currentTarget, metaKey, ctrlKey }: MouseEvent<HTMLTableRowElement>): void {
  const isOwn =
    !(target instanceof Element) || !currentTarget.contains(target) || target.closest('a, button, input, label, summary, dialog')
  if (isOwn || metaKey || ctrlKey || getSelection()?.isCollapsed === false) return
  currentTarget.querySelector<HTMLElement>('a[data-row]')?.click()
}

function Gap({ height }: { readonly height: number }) {
  return (
    <tr className="gap">
      <td style={{ height }} />
    </tr>
  )
}

interface HeadProps {
  readonly column: Looks & Pick<Column<never>, 'head' | 'sorts'>
  readonly sort: string | undefined
  readonly onSort: ((sort: string) => void) | undefined
}

function Head({ column, sort, onSort }: HeadProps) {
  const { head, holds, sorts } = column
  const className = classOf(column)
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
      <button type="button" className="sort inline" onClick={() => onSort(sort === first ? second : first)}>
        {head}
        {isBy && <Arrow aria-hidden="true" />}
      </button>
    </th>
  )
}

interface InSight {
  readonly first: number
  readonly end: number
  /** Heights in pixels of the rows that aren't rendered. `before`: above the rendered rows. `after`: below them. */
  readonly before: number
  readonly after: number
  /** Measures the height of a rendered row. Needed because rows have different heights on phones. */
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
