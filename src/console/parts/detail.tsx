import { Link, type LinkProps } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { isByKey } from '../layout/last-input.ts'
import { useTitle } from './page.tsx'

interface DetailProps {
  readonly title: string
  readonly back: LinkProps['to']
  readonly chip?: ReactNode
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** One thing of a list, beside it or in its place. */
export function Detail({ title, back, chip, lead, actions, children }: DetailProps) {
  useTitle(title)
  const heading = useRef<HTMLHeadingElement>(null)
  // Who opened it by a key reads on in it; the focus of a mouse stays where it is.
  useEffect(() => {
    if (isByKey()) heading.current?.focus()
  }, [])
  return (
    <article className="detail">
      <header className="page-head">
        <div className="detail-title">
          <h1 ref={heading} tabIndex={-1}>
            <bdi>{title}</bdi>
          </h1>
          {chip}
        </div>
        <Link to={back} search={true} className="plain" data-back="" aria-label="Close" title="Back to the list (Esc)">
          <X aria-hidden="true" />
        </Link>
        {lead && <div className="lead detail-lead">{lead}</div>}
        {actions && <div className="actions detail-lead">{actions}</div>}
      </header>
      {children}
    </article>
  )
}
