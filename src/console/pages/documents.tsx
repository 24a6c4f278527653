import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { headOf } from '../../ops/output/words.ts'
import { useAction } from '../api/action.ts'
import { api, type Schemas, unwrap } from '../api/client.ts'
import { documentsQuery } from '../api/queries.ts'
import { useAddress } from '../layout/search.ts'
import { Button } from '../parts/button.tsx'
import { Chip } from '../parts/chip.tsx'
import { ConfirmButton } from '../parts/confirm.tsx'
import { Choice, FilterSearch } from '../parts/fields.tsx'
import { shortId } from '../parts/id.tsx'
import { counted } from '../parts/numbers.ts'
import { ListPage } from '../parts/page.tsx'
import { QueryTable } from '../parts/query-table.tsx'
import type { Column } from '../parts/table.tsx'
import { Age } from '../parts/time.tsx'
import { InsuredLink } from './submissions.tsx'

type Document = Schemas['Document']

const states = ['failed', 'waiting', 'stored', 'gone'] as const

const FETCH_HELP = `Use this after fixing the cause. Documents that fail again stay in this list. Documents on an unlisted host fail until the
  host is added.`

export function Documents() {
  const [{ account, state: given, search = '' }, set] = useAddress()
  const state = states.find((each) => each === given) ?? 'failed'
  const query = useInfiniteQuery(documentsQuery({ state, limit: 100, ...(account && { account }), ...(search && { search }) }))
  const retry = useRetry()
  return (
    <ListPage title="Documents">
      <div className="filters">
        <FilterSearch name="search" label="Search documents" placeholder="File, insured, id" />
        <Choice label="State" all="failed" value={given ?? ''} options={states.slice(1)} onChange={(next) => set({ state: next })} />
        {state === 'failed' && (
          <div className="actions">
            <ConfirmButton
              isBusy={retry.isPending}
              ask={() => ({ title: 'Fetch failed documents again?', confirmLabel: 'Fetch again', text: FETCH_HELP })}
              onDo={() => retry.mutate({ ...(account && { account }) })}
            >
              Fetch all failed again
            </ConfirmButton>
          </div>
        )}
      </div>
      <QueryTable
        query={query}
        label="Documents"
        columns={state === 'failed' ? columnsWith((key) => retry.mutate({ keys: [key] })) : plainColumns}
        keyOf={({ account: of, document_key }) => `${of}/${document_key}`}
        empty={
          search !== '' ? 'No documents match this search.' : state === 'failed' ? 'No failed documents.' : 'No documents in this state.'
        }
      />
    </ListPage>
  )
}

function useRetry() {
  return useAction({
    run: (body: { readonly keys?: string[]; readonly account?: string }) => unwrap(api.POST('/api/v1/documents/retry', { body })),
    done: ({ changed }) => `${counted(changed, 'document')} queued to be fetched again.`,
  })
}

function nameOf({ name, source_label, document_id, document_key }: Document): string {
  return name ?? source_label ?? shortId(document_id ?? document_key)
}

const NAME: Column<Document> = { id: 'name', head: 'File', cell: (document) => <bdi title={nameOf(document)}>{nameOf(document)}</bdi> }
const SUBMISSION: Column<Document> = {
  id: 'insured',
  head: headOf('insured_name'),
  isWide: true,
  cell: (document) => <InsuredLink item={document} isRow />,
}
const HOST: Column<Document> = {
  id: 'host',
  head: 'Host',
  rank: 3,
  cell: ({ host }) => (host === null ? <span className="quiet">the service</span> : <span className="mono">{host}</span>),
}

const plainColumns: readonly Column<Document>[] = [
  NAME,
  SUBMISSION,
  HOST,
  { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
  { id: 'at', head: 'Since', isNumber: true, cell: ({ stored_at, created_at }) => <Age at={stored_at ?? created_at} /> },
]

/** @returns the error without its advice. The page shows the advice in `fix` instead. */
function reasonIn(error: string | null): string {
  return error?.split('; ', 1)[0] ?? ''
}

function Reason({ document: { error, is_refused, fix } }: { readonly document: Document }) {
  return (
    <>
      <span className="bad">{reasonIn(error)}</span>
      <br />
      {fix}{' '}
      {is_refused && (
        <Link to="/operations" hash="upkeep">
          Reload settings
        </Link>
      )}
    </>
  )
}

function columnsWith(onRetry: (key: string) => void): readonly Column<Document>[] {
  return [
    {
      ...NAME,
      cell: (document) => (
        <span className="cut ellipsis">
          {NAME.cell(document)}
          <br />
          {SUBMISSION.cell(document)}
        </span>
      ),
    },
    {
      id: 'reason',
      head: 'Reason and fix',
      holds: 'sentence',
      isWide: true,
      rank: 2,
      isOnPhone: true,
      cell: (document) => <Reason document={document} />,
    },
    { id: 'since', head: 'Since', isNumber: true, cell: ({ failing_since, tried_at }) => <Age at={failing_since ?? tried_at} /> },
    {
      id: 'actions',
      head: '',
      holds: 'buttons',
      isNumber: true,
      cell: (document) =>
        !document.is_refused && (
          <Button requires="operator" isSmall onClick={() => onRetry(document.document_key)} label={`Fetch again: ${nameOf(document)}`}>
            Fetch again
          </Button>
        ),
    },
  ]
}
