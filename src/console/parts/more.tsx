import { useEffect, useRef } from 'react'

export interface Pages {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => unknown
}

interface MoreProps {
  readonly pages: Pages
  /** Label of a button that loads the next page. If undefined, the next page loads when the user scrolls to the end. */
  readonly button?: string | undefined
}

export function More({ pages, button }: MoreProps) {
  const end = useRef<HTMLDivElement>(null)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    const element = end.current
    if (!element || !hasNextPage || isFetchingNextPage || button !== undefined) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage(), { rootMargin: '600px' })
    observer.observe(element)
    return () => observer.disconnect()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, button])
  if (!hasNextPage) return null
  return (
    <div ref={end} className="more">
      <button type="button" className="button small" disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {isFetchingNextPage ? 'Loading…' : (button ?? 'Show more')}
      </button>
    </div>
  )
}
