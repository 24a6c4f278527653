import { X } from 'lucide-react'
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** Whether only screen readers get the title. */
  readonly isTitleHidden?: boolean
  readonly className?: string
}

/**
 * Finds the element to focus when a dialog opens: the first field, or in a dialog without fields, the first action. In
 * a confirmation dialog, the first action is "Cancel". By default, the browser would focus the close button.
 */
function firstFocus(dialog: HTMLElement): HTMLElement | null {
  const fields = 'input:not(:disabled, [type="checkbox"], [type="radio"]), select:not(:disabled), textarea:not(:disabled)'
  return dialog.querySelector<HTMLElement>(fields) ?? dialog.querySelector<HTMLElement>('.actions button:not(:disabled)')
}

export function Modal({ title, onClose, children, isTitleHidden = false, className = '' }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Close the dialog before React removes it. If an open dialog is removed, the browser doesn't return the focus.
  useLayoutEffect(() => {
    const shown = dialog.current
    if (!shown) return
    shown.showModal()
    firstFocus(shown)?.focus()
    return () => shown.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={`modal ${className}`}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
      onKeyDown={(event) => event.key === 'Escape' && event.stopPropagation()}
    >
      <div className="modal-body stack">
        <header className={isTitleHidden ? 'unseen' : 'modal-head line'}>
          <h2 id={heading}>{title}</h2>
          {!isTitleHidden && (
            <button type="button" className="plain" aria-label="Close" onClick={onClose}>
              <X aria-hidden="true" />
            </button>
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}

interface OpensModalProps {
  readonly title: string
  readonly className?: string
  readonly button: (open: () => void) => ReactNode
  readonly children: ReactNode
}

/** A button that opens a dialog. The content of the dialog is rendered only while the dialog is open. */
export function OpensModal({ button, ...modal }: OpensModalProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {button(() => setOpen(true))}
      {isOpen && <Modal {...modal} onClose={() => setOpen(false)} />}
    </>
  )
}
