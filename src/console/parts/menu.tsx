import { ChevronDown } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'

/** Buttons that are seldom needed, behind one. It closes by itself after a choice, by Escape and by a click elsewhere. */
export function Menu({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const room = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = () => room.current?.removeAttribute('open')
    const onClick = ({ target }: MouseEvent) => {
      if (!room.current?.querySelector('summary')?.contains(target as Node)) close()
    }
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !room.current?.open) return
      event.stopPropagation()
      close()
      room.current.querySelector('summary')?.focus()
    }
    document.addEventListener('click', onClick)
    document.addEventListener('keydown', onKey, true)
    return () => {
      document.removeEventListener('click', onClick)
      document.removeEventListener('keydown', onKey, true)
    }
  }, [])
  return (
    <details className="menu-room" ref={room}>
      <summary className="button small">
        {label} <ChevronDown aria-hidden="true" />
      </summary>
      <div className="menu deeds">{children}</div>
    </details>
  )
}

interface DeedProps {
  readonly name: string
  /** What it does, in a sentence. */
  readonly says: string
  /** Why it cannot be done now. */
  readonly not?: string | undefined
  readonly onDo: () => void
}

/** One button of a menu. */
export function Deed({ name, says, not, onDo }: DeedProps) {
  return (
    <div>
      <button type="button" disabled={not !== undefined} onClick={onDo}>
        {name}
      </button>
      <p className="quiet">{not ?? says}</p>
    </div>
  )
}
