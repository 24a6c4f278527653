import { announce, announceRefusal } from '../api/announce.ts'

const HEAD = 8
const TAIL = 4

/** @returns an id, shortened in its middle. */
export function shortId(id: string): string {
  return id.length > HEAD + TAIL + 3 ? `${id.slice(0, HEAD)}…${id.slice(-TAIL)}` : id
}

/** An id, which a click copies whole. */
export function Id({ id, isWhole = false }: { readonly id: string; readonly isWhole?: boolean }) {
  const copy = () =>
    navigator.clipboard.writeText(id).then(
      () => announce(`Copied ${shortId(id)}.`),
      () => announceRefusal('The browser does not let this page copy.'),
    )
  return (
    <button type="button" className="id mono" title={`${id} – click to copy`} onClick={() => void copy()}>
      <span className="unseen">Copy </span>
      {isWhole ? id : shortId(id)}
    </button>
  )
}
