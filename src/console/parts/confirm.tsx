import type { ReactNode } from 'react'
import { Modal } from './modal.tsx'

interface ConfirmProps {
  /** A question, or what will be done. */
  readonly title: string
  readonly children: ReactNode
  /** A verb with its object. */
  readonly deed: string
  readonly onDo: () => void
  readonly onClose: () => void
  readonly isDanger?: boolean
}

/** Tells what an action will do, before it is done. */
export function Confirm({ title, children, deed, onDo, onClose, isDanger = false }: ConfirmProps) {
  return (
    <Modal title={title} onClose={onClose}>
      <div>{children}</div>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          className={`button ${isDanger ? 'danger' : 'primary'}`}
          onClick={() => {
            onClose()
            onDo()
          }}
        >
          {deed}
        </button>
      </div>
    </Modal>
  )
}
