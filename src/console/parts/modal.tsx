import { X } from 'lucide-react'
import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'

interface ModalProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ReactNode
  /** Whether the title is read out only, because what it holds says the same. */
  readonly isTitleHidden?: boolean
  readonly className?: string
}

/**
 * @returns where one goes on in a dialog: its first field, else the first button of its actions, which is the harmless one. The browser would
 * take the first element that can have the focus at all, and knows nothing of React's `autoFocus`.
 */
function firstOf(dialog: HTMLElement): HTMLElement | null {
  const fields = 'input:not(:disabled, [type="checkbox"], [type="radio"]), select:not(:disabled), textarea:not(:disabled)'
  return dialog.querySelector<HTMLElement>(fields) ?? dialog.querySelector<HTMLElement>('.actions button:not(:disabled)')
}

/** A dialog above the page: the browser keeps the focus in it, closes it with Esc, and gives the focus back. */
export function Modal({ title, onClose, children, isTitleHidden = false, className = '' }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Closed before it is taken out: a dialog that is gone gives no focus back.
  useLayoutEffect(() => {
    const shown = dialog.current
    if (!shown) return
    shown.showModal()
    firstOf(shown)?.focus()
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
      <div className="modal-body">
        <header className={isTitleHidden ? 'unseen' : 'modal-head'}>
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
