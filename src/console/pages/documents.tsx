import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { headOf } from '../../ops/output/words.ts'
import { useAction } from '../api/action.ts'
import { answered, api, type Schemas } from '../api/client.ts'
import { documentsQuery } from '../api/queries.ts'
import { useAddress } from '../layout/search.ts'
import { Button } from '../parts/button.tsx'
import { Chip } from '../parts/chip.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Choice } from '../parts/fields.tsx'
import { shortId } from '../parts/id.tsx'
import { Listed } from '../parts/listed.tsx'
import { counted } from '../parts/numbers.ts'
import { Page } from '../parts/page.tsx'
import { SearchField } from '../parts/search-field.tsx'
import type { Column } from '../parts/table.tsx'
import { Age } from '../parts/time.tsx'
import { InsuredLink } from './submissions.tsx'

type Document = Schemas['Document']

const states = ['failed', 'waiting', 'stored', 'gone'] as const

/** The documents of all submissions by their state, at first those that could not be fetched: why, and what to do. */
export function Documents() {
  const [{ account, state: given, search = '' }, set] = useAddress()
  const onSearch = useCallback((text: string) => set({ search: text }), [set])
  const state = states.find((each) => each === given) ?? 'failed'
  const query = useInfiniteQuery(documentsQuery({ state, limit: 100, ...(account && { account }), ...(search && { search }) }))
  const retry = useRetry()
  const [asks, setAsks] = useState(false)
  return (
    <Page title="Documents" className="lists">
      <div className="filters">
        <SearchField label="Search documents" placeholder="File, insured, id" value={search} onChange={onSearch} />
        <Choice label="State" all="failed" value={given ?? ''} options={states.slice(1)} onChange={(next) => set({ state: next })} />
        {state === 'failed' && (
          <div className="actions">
            <Button needs="operator" isSmall isBusy={retry.isPending} onClick={() => setAsks(true)}>
              Fetch all again
            </Button>
          </div>
        )}
      </div>
      {asks && (
        <Confirm
          title="Fetch failed documents again?"
          deed="Fetch again"
          onDo={() => retry.mutate({ ...(account && { account }) })}
          onClose={() => setAsks(false)}
        >
          For after what they failed by was mended. Each is tried within seconds; what fails again stays in this list, and a document on a
          host that is not named fails until it is.
        </Confirm>
      )}
      <Listed
        query={query}
        label="Documents"
        columns={state === 'failed' ? columnsWith((key) => retry.mutate({ keys: [key] })) : plainColumns}
        keyOf={({ account: of, document_key }) => `${of}/${document_key}`}
        empty={
          search !== ''
            ? 'No document in this state fits the search.'
            : state === 'failed'
              ? 'No document failed: each could be fetched, or waits for its turn.'
              : 'No document is in this state.'
        }
      />
    </Page>
  )
}

function useRetry() {
  return useAction({
    run: (body: { readonly keys?: string[]; readonly account?: string }) => answered(api.POST('/api/v1/documents/retry', { body })),
    done: ({ changed }) => `${counted(changed, 'document')} will be fetched again within seconds.`,
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
  cell: ({ account, submission_id, insured_name }) =>
    submission_id ? <InsuredLink item={{ account, submission_id, insured_name }} isRow /> : <span className="quiet">–</span>,
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

/** The first part of an error: the advice replaces the rest. */
function reasonIn(error: string | null): string {
  return error?.split('; ', 1)[0] ?? ''
}

/** The reason in one line and the fix in the next. If the settings refuse the document, a link leads to their reload. */
function Reason({ document: { error, is_refused, mend } }: { readonly document: Document }) {
  return (
    <>
      <span className="bad">{reasonIn(error)}</span>
      <br />
      {mend}{' '}
      {is_refused && (
        <Link to="/operations" hash="upkeep">
          Reload the settings
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
        <span className="cut">
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
      id: 'deeds',
      head: '',
      holds: 'buttons',
      isNumber: true,
      cell: (document) =>
        !document.is_refused && (
          <Button needs="operator" isSmall onClick={() => onRetry(document.document_key)} label={`Fetch again: ${nameOf(document)}`}>
            Fetch again
          </Button>
        ),
    },
  ]
}
