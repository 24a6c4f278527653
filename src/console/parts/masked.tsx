import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Braces } from 'lucide-react'
import { announceError } from '../api/announce.ts'
import { reasonOf } from '../api/client.ts'
import { rowQuery } from '../api/queries.ts'
import { useMay } from '../session/session.ts'
import { requiresRole } from './button.tsx'
import { Json, parseJson } from './json.tsx'
import { OpensModal } from './modal.tsx'
import { QueryState } from './states.tsx'

/** Text that the server sends instead of a personal value that the user may not see, or hasn't asked for. */
export const MASK = '••••'

interface RowRef {
  readonly table: string
  readonly row: string
}

/** @returns `show`: fetches the row with its personal values. `shown`: that row; null until it is fetched. */
export function useShownRow({ table, row }: RowRef) {
  const client = useQueryClient()
  // Only `show` fetches the row, because each fetch adds an entry to the audit log.
  const { data } = useQuery({ ...rowQuery(table, row), enabled: false })
  const show = () =>
    client.fetchQuery(rowQuery(table, row)).then(
      () => undefined,
      (error: unknown) => announceError(reasonOf(error)),
    )
  return { shown: data?.row ?? null, show }
}

interface MaskedValueProps extends RowRef {
  readonly column: string
  readonly value: unknown
  readonly what: string
}

/** Shows a value of a row. If the value is masked, also shows a button that reveals it. */
export function MaskedValue({ table, row, column, value, what }: MaskedValueProps) {
  const { shown, show } = useShownRow({ table, row })
  if (value !== MASK) return <>{textOf(value)}</>
  if (shown && shown[column] !== undefined && shown[column] !== MASK) return <>{textOf(shown[column])}</>
  return (
    <span className="masked inline">
      {MASK}
      <ShowButton what={what} onShow={show} />
    </span>
  )
}

interface ShowButtonProps {
  readonly what: string
  readonly onShow: () => Promise<void>
}

export function ShowButton({ what, onShow }: ShowButtonProps) {
  const may = useMay('operator')
  const title = may ? 'Show the masked values of this row. The audit log records who did.' : requiresRole('operator')
  return (
    <button type="button" className="plain show" disabled={!may} title={title} onClick={() => void onShow()}>
      Show<span className="unseen"> {what}</span>
    </button>
  )
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ') || '–'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

interface RawProps extends RowRef {
  readonly what: string
}

/** Button that opens a dialog with the row's JSON, as the service sent it. */
export function Raw({ table, row, what }: RawProps) {
  const may = useMay('operator')
  const button = (open: () => void) => (
    <button
      type="button"
      className="plain raw"
      disabled={!may}
      aria-label={`Raw JSON: ${what}`}
      title={may ? 'Show the JSON that the service sent. The audit log records who did.' : requiresRole('operator')}
      onClick={open}
    >
      <Braces aria-hidden="true" />
    </button>
  )
  return (
    <OpensModal title={what} className="large" button={button}>
      <RawObject table={table} row={row} />
    </OpensModal>
  )
}

function RawObject({ table, row }: RowRef) {
  // Fetch when the dialog opens, but not automatically after that, because each fetch adds an entry to the audit log.
  const query = useQuery({ ...rowQuery(table, row), staleTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false })
  return (
    <QueryState query={query} rows={4}>
      {({ row: { raw, ...columns } }) => <Json value={typeof raw === 'string' ? parseJson(raw) : columns} />}
    </QueryState>
  )
}
