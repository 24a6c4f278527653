import { useEffect, useRef } from 'react'

interface Pages {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => unknown
}

/** The end of a list that goes on: it comes by itself when one gets there, and by a button. */
export function More({ pages }: { readonly pages: Pages }) {
  const end = useRef<HTMLDivElement>(null)
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    const element = end.current
    if (!element || !hasNextPage || isFetchingNextPage) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && fetchNextPage(), { rootMargin: '600px' })
    observer.observe(element)
    return () => observer.disconnect()
  }, [hasNextPage, isFetchingNextPage, fetchNextPage])
  if (!hasNextPage) return null
  return (
    <div ref={end} className="more">
      <button type="button" className="button small" disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
        {isFetchingNextPage ? 'Loading more' : 'Show more'}
      </button>
    </div>
  )
}
