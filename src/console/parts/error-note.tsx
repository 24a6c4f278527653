import { type ReactNode, useState } from 'react'
import { Modal } from './modal.tsx'

interface ErrorNoteProps {
  readonly text: string
  /** Of what it is told. */
  readonly of: string
  /** The whole of it, where the line is not; read when it is opened. */
  readonly children?: ReactNode
}

/** What went wrong with a row, in one line of it; a click opens the whole. */
export function ErrorNote({ text, of, children = text }: ErrorNoteProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="plain cell-note bad" title={text} onClick={() => setOpen(true)}>
        {text}
      </button>
      {isOpen && (
        <Modal title={`${of}: what went wrong`} onClose={() => setOpen(false)}>
          <p className="whole-text">{children}</p>
        </Modal>
      )}
    </>
  )
}
