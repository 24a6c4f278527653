import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Braces } from 'lucide-react'
import { useState } from 'react'
import { announceRefusal } from '../api/announce.ts'
import { reasonOf } from '../api/client.ts'
import { rowQuery } from '../api/queries.ts'
import { useMay } from '../session/session.ts'
import { Json, parsedJson } from './json.tsx'
import { Modal } from './modal.tsx'
import { Asked } from './states.tsx'

/** What stands for a personal value until somebody asks for it. */
export const MASK = '••••'

interface OfRow {
  readonly table: string
  /** The `row_key` of the row. */
  readonly row: string
}

/** @returns a row as it is once somebody had it shown, and how to have it shown. */
export function useShownRow({ table, row }: OfRow) {
  const client = useQueryClient()
  // Only read here: asking for the row is an act, which is noted.
  const { data } = useQuery({ ...rowQuery(table, row), enabled: false })
  const show = () =>
    client.fetchQuery(rowQuery(table, row)).then(
      () => undefined,
      (error: unknown) => announceRefusal(reasonOf(error)),
    )
  return { shown: data?.row ?? null, show }
}

interface MaskedProps extends OfRow {
  readonly column: string
  /** As the routes show it: masked, or not. */
  readonly value: unknown
  readonly what: string
}

/** A value of a row. A personal one is masked until a person asks for the row, which is noted. */
export function Masked({ table, row, column, value, what }: MaskedProps) {
  const { shown, show } = useShownRow({ table, row })
  const may = useMay('operator')
  if (value !== MASK) return <>{textOf(value)}</>
  if (shown && shown[column] !== undefined && shown[column] !== MASK) return <>{textOf(shown[column])}</>
  return (
    <span className="masked">
      {MASK}
      <button
        type="button"
        className="plain show"
        disabled={!may}
        title={may ? 'Show this row. It is noted who did.' : 'This takes the role operator.'}
        onClick={() => void show()}
      >
        Show<span className="unseen"> {what}</span>
      </button>
    </span>
  )
}

/** @returns a value of a table as text. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ') || '–'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

interface RawProps extends OfRow {
  readonly what: string
}

/** The object of the service behind something, as it came. */
export function Raw({ table, row, what }: RawProps) {
  const [isOpen, setOpen] = useState(false)
  const may = useMay('operator')
  return (
    <>
      <button
        type="button"
        className="plain raw"
        disabled={!may}
        aria-label={`Raw object of ${what}`}
        title={may ? 'The object as the service sent it. It is noted who looked.' : 'This takes the role operator.'}
        onClick={() => setOpen(true)}
      >
        <Braces aria-hidden="true" />
      </button>
      {isOpen && (
        <Modal title={what} onClose={() => setOpen(false)} className="large">
          <RawObject table={table} row={row} />
        </Modal>
      )}
    </>
  )
}

function RawObject({ table, row }: OfRow) {
  // Each look is a new one, which is noted, and shows the row as it is now.
  const query = useQuery({ ...rowQuery(table, row), staleTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false })
  return (
    <Asked query={query} rows={4}>
      {({ row: { raw, ...columns } }) => <Json value={typeof raw === 'string' ? parsedJson(raw) : columns} />}
    </Asked>
  )
}
