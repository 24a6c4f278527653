import { type ReactNode, useEffect } from 'react'

interface PageHeadProps {
  readonly title: string
  readonly actions?: ReactNode
  readonly lead?: ReactNode
  readonly heading?: 'h1' | 'h2'
}

function PageHead({ title, actions, lead, heading: Heading = 'h1' }: PageHeadProps) {
  return (
    <header className="page-head split">
      <div>
        <Heading className="page-title">{title}</Heading>
        {lead && <div className="lead">{lead}</div>}
      </div>
      {actions && <div className="actions">{actions}</div>}
    </header>
  )
}

export function Page({ children, ...head }: PageHeadProps & { readonly children: ReactNode }) {
  useTitle(head.title)
  return (
    <div className="page">
      <PageHead {...head} />
      {children}
    </div>
  )
}

interface ListPageProps extends PageHeadProps {
  /** The open item. Wide screens show it next to the list, small screens instead of the list. */
  readonly detail?: ReactNode
  readonly children: ReactNode
}

/** A page with a list, as wide as the window. While an item is open, the item's heading is the `h1` of the page. */
export function ListPage({ detail = null, children, ...head }: ListPageProps) {
  const isOpen = detail !== null
  useTitle(isOpen ? null : head.title)
  return (
    <div className={`page list-page${isOpen ? ' with-detail' : ''}`}>
      <div className="list-side">
        <PageHead {...head} heading={isOpen ? 'h2' : 'h1'} />
        {children}
      </div>
      {isOpen && <div className="detail-side">{detail}</div>}
    </div>
  )
}

/** Sets the title of the browser window. Null leaves the title unchanged. */
export function useTitle(title: string | null): void {
  useEffect(() => {
    if (title !== null) document.title = `${title} · submission-mirror`
  }, [title])
}
