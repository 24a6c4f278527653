import { type ReactNode, useEffect } from 'react'

interface PageProps {
  readonly title: string
  /** Beside the title: buttons, filters. */
  readonly actions?: ReactNode
  readonly lead?: ReactNode
  readonly className?: string
  readonly children: ReactNode
}

/** A page: its one heading, which is the title of the window too, and what it shows. */
export function Page({ title, actions, lead, className = '', children }: PageProps) {
  useTitle(title)
  return (
    <div className={`page ${className}`}>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {lead && <div className="lead">{lead}</div>}
        </div>
        {actions && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · submission-mirror`
  }, [title])
}
