import { announce, announceError } from '../api/announce.ts'

const HEAD = 8
const TAIL = 4

/** Shortens a long id to its first 8 and last 4 characters. */
export function shortId(id: string): string {
  return id.length > HEAD + TAIL + 3 ? `${id.slice(0, HEAD)}…${id.slice(-TAIL)}` : id
}

export function Id({ id, isWhole = false }: { readonly id: string; readonly isWhole?: boolean }) {
  const copy = () =>
    navigator.clipboard.writeText(id).then(
      () => announce(`Copied ${shortId(id)}.`),
      () => announceError("The browser doesn't allow this page to copy."),
    )
  return (
    <button type="button" className="id mono" title={`Copy ${id}`} onClick={() => void copy()}>
      <span className="unseen">Copy </span>
      {isWhole ? id : shortId(id)}
    </button>
  )
}
