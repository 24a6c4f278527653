import { X } from 'lucide-react'
import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** Whether the title is only for screen readers. */
  readonly isTitleHidden?: boolean
  readonly className?: string
}

/**
 * @returns the element to focus: the first field; without fields, the first action, which is harmless. The browser
 * would
 * focus the close button.
 */
function firstFocus(dialog: HTMLElement): HTMLElement | null {
  const fields = 'input:not(:disabled, [type="checkbox"], [type="radio"]), select:not(:disabled), textarea:not(:disabled)'
  return dialog.querySelector<HTMLElement>(fields) ?? dialog.querySelector<HTMLElement>('.actions button:not(:disabled)')
}

export function Modal({ title, onClose, children, isTitleHidden = false, className = '' }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Close the dialog before React removes it. A dialog that is removed while open doesn't return the focus.
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

/** A button that opens a dialog. The dialog's content is rendered only while it is open. */
export function OpensModal({ button, ...modal }: OpensModalProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {button(() => setOpen(true))}
      {isOpen && <Modal {...modal} onClose={() => setOpen(false)} />}
    </>
  )
}
