import type { ReactNode } from 'react'
import { useTitle } from './page.tsx'

interface ListPageProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  /** What was opened of the list: it stands beside it where there is room, and in its place where there is not. */
  readonly detail: ReactNode
  readonly children: ReactNode
}

/** A list, and what was opened of it. The heading of the page is that of what one looks at. */
export function ListPage({ title, lead, actions, detail, children }: ListPageProps) {
  const isOpen = detail !== null
  const Heading = isOpen ? 'h2' : 'h1'
  return (
    <div className={`page list-page${isOpen ? ' with-detail' : ''}`}>
      {!isOpen && <Title text={title} />}
      <div className="list-side">
        <header className="page-head">
          <div>
            <Heading className="list-title">{title}</Heading>
            {lead && <div className="lead">{lead}</div>}
          </div>
          {actions && <div className="actions">{actions}</div>}
        </header>
        {children}
      </div>
      {isOpen && <div className="detail-side">{detail}</div>}
    </div>
  )
}

function Title({ text }: { readonly text: string }) {
  useTitle(text)
  return null
}
