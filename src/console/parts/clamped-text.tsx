import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'

/** Shows the first two lines of a text. If the text is longer, a button shows the rest. */
export function ClampedText({ children }: { readonly children: ReactNode }) {
  const text = useRef<HTMLParagraphElement>(null)
  const [isWhole, setWhole] = useState(false)
  const [isCut, setCut] = useState(false)
  // Watch the size, because the text may become longer when personal values are shown.
  useLayoutEffect(() => {
    const element = text.current
    if (!element || isWhole) return
    const observer = new ResizeObserver(() => setCut(element.scrollHeight > element.clientHeight + 1))
    observer.observe(element)
    return () => observer.disconnect()
  }, [isWhole])
  return (
    <>
      <p ref={text} className={isWhole ? 'entry-text whole' : 'entry-text'}>
        {children}
      </p>
      {(isCut || isWhole) && (
        <button type="button" className="plain show" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show more'}
        </button>
      )}
    </>
  )
}
