import { type ReactNode, useEffect, useRef } from 'react'

interface MenuProps {
  readonly label: ReactNode
  readonly name?: string
  readonly className?: string
  readonly children: ReactNode
}

export function Menu({ label, name, className = 'button small', children }: MenuProps) {
  const room = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = () => room.current?.removeAttribute('open')
    const onClick = ({ target }: MouseEvent) => {
      const isOwn = target instanceof Element && room.current?.contains(target) && !target.closest('.menu button')
      if (!isOwn) close()
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
      <summary className={className} aria-label={name}>
        {label}
      </summary>
      <div className="menu stack table-text">{children}</div>
    </details>
  )
}

interface MenuActionProps {
  readonly name: string
  /** A sentence that explains the action. */
  readonly description: string
  /** Why the action isn't available; undefined if it is available. */
  readonly unavailable?: string | undefined
  readonly onDo: () => void
}

export function MenuAction({ name, description, unavailable, onDo }: MenuActionProps) {
  return (
    <div className="menu-action">
      <button type="button" disabled={unavailable !== undefined} onClick={onDo}>
        {name}
      </button>
      <p className="quiet small-text">{unavailable ?? description}</p>
    </div>
  )
}
