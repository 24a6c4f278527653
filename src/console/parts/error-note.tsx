import type { ReactNode } from 'react'
import { OpensModal } from './modal.tsx'

interface ErrorNoteProps {
  readonly text: string
  readonly of: string
  /** The full error, if `text` is only a part of it. Rendered when the user opens the dialog. */
  readonly children?: ReactNode
}

/**
 * Shows the error of a row in one line. A click opens a dialog with the full error.
 * @param of name of the row, for the dialog's title.
 */
export function ErrorNote({ text, of, children = text }: ErrorNoteProps) {
  const button = (open: () => void) => (
    <button type="button" className="plain cell-note ellipsis small-text bad" title={text} onClick={open}>
      {text}
    </button>
  )
  return (
    <OpensModal title={`${of}: error`} button={button}>
      <p className="whole-text">{children}</p>
    </OpensModal>
  )
}
