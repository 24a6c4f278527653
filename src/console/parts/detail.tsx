import { Link, type LinkProps } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { useTitle } from './page.tsx'

interface DetailProps {
  readonly title: string
  readonly back: LinkProps['to']
  readonly chip?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** Shows an open item of a list. Wide screens show it next to the list, small screens instead of the list. */
export function Detail({ title, back, chip, lead, actions, children }: DetailProps) {
  useTitle(title)
  const heading = useRef<HTMLHeadingElement>(null)
  // If the user opened the item by keyboard, move the focus to the heading. After a click, leave the focus where it is.
  useEffect(() => {
    if (document.activeElement?.matches(':focus-visible')) heading.current?.focus()
  }, [])
  return (
    <article className="detail">
      <header className="page-head split">
        <div className="detail-title cluster">
          <h1 ref={heading} tabIndex={-1}>
            <bdi>{title}</bdi>
          </h1>
          {chip}
        </div>
        <Link to={back} search={true} className="plain" data-back="" aria-label="Close" title="Back to list (Esc)">
          <X aria-hidden="true" />
        </Link>
        {lead && <div className="lead detail-lead">{lead}</div>}
        {actions && <div className="actions detail-lead">{actions}</div>}
      </header>
      {children}
    </article>
  )
}
