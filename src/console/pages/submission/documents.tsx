import { FileText } from 'lucide-react'
import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { MaskedValue, textOf } from '../../parts/masked.tsx'
import { counted, size } from '../../parts/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { Age } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'
import type { View } from './view.tsx'

export function Documents({ view }: { readonly view: View }) {
  const documents = [...(view.tables.documents ?? [])].sort((a, b) => weightOf(a) - weightOf(b))
  return (
    <Section title="Documents" actions={documents.length > 0 && <span className="quiet">{counted(documents.length, 'document')}</span>}>
      {documents.length === 0 ? (
        <Empty>No documents.</Empty>
      ) : (
        <>
          <Lines documents={documents.slice(0, FIRST)} />
          {documents.length > FIRST && (
            <details className="folded">
              <summary>{counted(documents.length - FIRST, 'more document')}</summary>
              <Lines documents={documents.slice(FIRST)} />
            </details>
          )}
        </>
      )}
    </Section>
  )
}

const FIRST = 8

/** @returns a number to sort documents by: failed first, then waiting, stored, and gone. */
function weightOf(document: Schemas['DocumentsRow']): number {
  return ['failed', 'waiting', 'stored', 'gone'].indexOf(stateOf(document))
}

function Lines({ documents }: { readonly documents: readonly Schemas['DocumentsRow'][] }) {
  return (
    <ul className="lines">
      {documents.map((document) => (
        <DocumentLine key={document.row_key} document={document} />
      ))}
    </ul>
  )
}

function stateOf({ gone_at, sha256, error }: Schemas['DocumentsRow']): string {
  if (gone_at !== null) return 'gone'
  if (sha256 !== null) return 'stored'
  return error === null ? 'waiting' : 'failed'
}

function DocumentLine({ document }: { readonly document: Schemas['DocumentsRow'] }) {
  const may = useMay('operator')
  const state = stateOf(document)
  const name = textOf(document.name ?? document.source_label ?? document.document_id)
  const href = `/api/v1/documents/${encodeURIComponent(document.document_key)}?account=${encodeURIComponent(document.account)}`
  const shown = <MaskedValue table="documents" row={document.row_key} column="name" value={name} what="name of the document" />
  return (
    <li>
      <span className="line">
        <FileText aria-hidden="true" />
        {state === 'stored' && may ? (
          <a href={href} target="_blank" rel="noreferrer" title="Open the file. The audit log records who did.">
            {shown}
          </a>
        ) : (
          shown
        )}
      </span>
      <span className="quiet">
        {[document.source_label, document.stored_bytes === null ? null : size(document.stored_bytes)].filter(Boolean).join(' · ')}{' '}
        <Age at={document.created_at} none="" />
        {state === 'failed' && <span className="failure bad">{textOf(document.error)}.</span>}
      </span>
      <Chip word={state} />
    </li>
  )
}
